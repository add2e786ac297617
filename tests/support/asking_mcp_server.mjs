// An MCP server over standard input and output, whose only tool asks for a day before it books it.
import { createInterface } from 'node:readline';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const requestedSchema = { type: 'object', properties: { day: { type: 'string' }, people: { type: 'integer' } }, required: ['day'] };
let call;
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (method === 'initialize')
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'desk', version: '1' } } });
  if (method === 'tools/list') send({ id, result: { tools: [{ name: 'book', description: 'Books a table.', inputSchema: { type: 'object' } }] } });
  if (method === 'tools/call') {
    call = id;
    send({ id: 'asked', method: 'elicitation/create', params: { message: 'Which day?', requestedSchema } });
  }
  if (id === 'asked')
    send({ id: call, result: { content: [{ type: 'text', text: `${result?.action ?? 'refused'} ${Object.values(result?.content ?? {}).join(' ') || 'nothing'}` }] } });
}
