// over_http.mjs FOLDER PROGRAM [ARGUMENT…]: a server that speaks over pipes, reached over streamable HTTP. Messages pass
// as they are, in both directions; the transports are the SDK's, which stands in the node_modules of FOLDER. PORT says where.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, ...args] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(folder, 'node_modules/@modelcontextprotocol/sdk/dist/esm', file)));
const { StdioClientTransport } = await load('client/stdio.js');
const { StreamableHTTPServerTransport } = await load('server/streamableHttp.js');

const pipes = new StdioClientTransport({ command: process.execPath, args, env: process.env });
const web = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
web.onmessage = (message) => pipes.send(message);
pipes.onmessage = (message) => web.send(message);
pipes.onclose = () => process.exit(0);
await pipes.start();
await web.start();
http.createServer((request, response) => web.handleRequest(request, response)).listen(Number(process.env.PORT), '127.0.0.1', () => {
  console.log('listening');
});
