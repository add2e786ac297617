// A page of somebody else with the widget in it: node examples/widget/host.mjs [--server http://127.0.0.1:8080] [--port 9000]
//
// The server has to know the page: [server] origins = ["http://127.0.0.1:9000"]. If it asks for keys, this program has one, in
// TERTULIA_API_KEY; visitors never see it. They get a token that speaks for one user, and a new one before it ends.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { server: { type: 'string', default: 'http://127.0.0.1:8080' }, port: { type: 'string', default: '9000' } } });
const key = process.env.TERTULIA_API_KEY;
const page = readFileSync(new URL('./index.html', import.meta.url), 'utf8').replaceAll('TERTULIA', values.server);

// A shop would look up who is logged in. Here everybody is Ana.
async function tokenForVisitor() {
  const answer = await fetch(`${values.server}/api/v1/visitors`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ user: 'ana' }),
  });
  if (!answer.ok) throw new Error(`Tertulia gave no token: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function answer(request, response) {
  if (request.url === '/token') {
    const body = key ? await tokenForVisitor() : {};
    response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }).end(JSON.stringify(body));
  } else if (request.url === '/') {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(page);
  } else {
    response.writeHead(404).end();
  }
}

const server = createServer((request, response) => {
  answer(request, response).catch((problem) => {
    console.error(problem.message);
    response.writeHead(502).end();
  });
});
server.listen(Number(values.port), '127.0.0.1', () => console.log(`The page is at http://127.0.0.1:${server.address().port}`));
