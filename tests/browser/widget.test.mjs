import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { judge } from './judge.mjs';

// A page of somebody else, on an origin of its own.
async function hostPage(world, body) {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' });
    response.end(`<!doctype html><html lang="en"><title>Host</title><style>button { background: lime; font-size: 99px }</style><body><main><h1>Host</h1></main>${body}</body></html>`);
  });
  await new Promise((resolve) => server.listen(world.hostPort, '127.0.0.1', resolve));
  return { address: `http://127.0.0.1:${world.hostPort}/`, close: () => server.close() };
}

const listed = (world) => `[server]\norigins = ["http://127.0.0.1:${world.hostPort}"]\n`;
const path = (name) => fileURLToPath(new URL(name, import.meta.url));
// Goes on where the table of the agent ends.
const kDesk = (world) => `tools = ["mcp.desk"]\n[mcp.desk]\ncommand = "${process.execPath}"\nargs = ["${path('../support/asking_mcp_server.mjs')}"]\n${listed(world)}`;
const kLocked = (world) => `${listed(world)}key_required = true\n`;
export const settings = {
  'a visitor with a token that the host asked for talks as that user, and nobody else does': kLocked,
  'a token that comes while the first question is under way is used for it': kLocked,
  'a widget on a listed origin talks, is remembered, and tells its host': listed,
  'a host themes the widget, gives it the whole page, and speaks through it': listed,
  'a session that the host names is the same in every browser': listed,
  'what a tool wants to know is asked of the visitor, and failures are told in words that are for them': kDesk,
  'the example of a host page works on an origin of its own, with a token for each visitor': kLocked,
};

async function tokenFor(user, base, key) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const asked = await fetch(`${base}/api/v1/visitors`, { method: 'POST', headers, body: JSON.stringify({ user }) });
  assert.equal(asked.status, 201);
  return (await asked.json()).token;
}

const kEvents = `<script>window.heard = []; for (const name of ['ready', 'open', 'message', 'answer', 'error', 'close'])
  addEventListener('tertulia:' + name, (event) => heard.push(name + (event.detail.text ? ': ' + event.detail.text : '')));</script>`;

export default {
  async 'a widget on a listed origin talks, is remembered, and tells its host'({ world, base, model, window }) {
    const host = await hostPage(world, `${kEvents}<script src="${base}/widget.js" data-agent="default" data-heading="Ask us"></script>`);
    const { tab } = await window();
    const page = await tab();
    await page.goto(host.address);
    await page.getByRole('button', { name: 'Open chat' }).click();
    const panel = page.getByRole('dialog', { name: 'Ask us' });
    await panel.getByText('Hello! How can I help?').waitFor();
    model.plan('We open at **nine**.');
    await panel.getByRole('textbox', { name: 'Message' }).fill('When do you open?');
    await page.keyboard.press('Enter');
    await panel.locator('.agent strong', { hasText: 'nine' }).waitFor();
    await page.waitForFunction(() => window.heard.includes('answer: We open at **nine**.'));
    assert.deepEqual(await page.evaluate(() => window.heard), ['open', 'ready', 'message: When do you open?', 'answer: We open at **nine**.']);
    // The styles of the page stay outside.
    const size = await panel.getByRole('button', { name: 'Send' }).evaluate((button) => getComputedStyle(button).fontSize);
    assert.notEqual(size, '99px');
    await page.reload();
    await page.getByRole('button', { name: 'Open chat' }).click();
    await page.getByText('When do you open?').waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await page.waitForFunction(() => window.heard.includes('close'));
    host.close();
  },

  async 'a host themes the widget, gives it the whole page, and speaks through it'({ world, base, model, window }) {
    const host = await hostPage(world, `${kEvents}<script src="${base}/widget.js"></script>
      <tertulia-chat mode="page" heading="Casa" greeting="Bom dia!" placeholder="Ask" accent="#0a7d5a" theme="dark" session="guest-7"></tertulia-chat>`);
    const page = await (await window()).tab();
    await page.goto(host.address);
    const panel = page.getByRole('region', { name: 'Casa' });
    await panel.getByText('Bom dia!').waitFor();
    const box = await panel.boundingBox();
    assert.deepEqual([box.width, box.height], [1280, 800]);
    await page.evaluate(() => document.querySelector('tertulia-chat').send('From the host'));
    const line = panel.locator('.visitor', { hasText: 'From the host' });
    await line.waitFor();
    assert.equal(await line.evaluate((one) => getComputedStyle(one).backgroundColor), 'rgb(10, 125, 90)');
    assert.ok(Number(/\d+/.exec(await panel.evaluate((one) => getComputedStyle(one).backgroundColor))[0]) < 60);
    await panel.getByText('You said: From the host').waitFor();
    const ink = (accent) => page.evaluate(async (colour) => {
      const chat = document.querySelector('tertulia-chat');
      chat.setAttribute('accent', colour);
      // Several attributes that change at once are one change.
      await new Promise((resolve) => setTimeout(resolve));
      return getComputedStyle(chat.shadowRoot.querySelector('.root')).getPropertyValue('--on-accent');
    }, accent);
    assert.deepEqual([await ink('#ffd84d'), await ink('#0a7d5a')], ['#1c1712', '#fff']);
    // A tool that asks is answered where the visitor is.
    model.plan({ calls: [{ name: 'calculator', arguments: { expression: '6*7' } }] }, 'It is 42.');
    await panel.getByPlaceholder('Ask').fill('Six times seven?');
    await page.keyboard.press('Enter');
    await panel.getByRole('group', { name: 'May calculator run?' }).waitFor();
    await judge(page, 'widget');
    await panel.getByRole('button', { name: 'Allow' }).click();
    await panel.getByText('It is 42.').waitFor();
    await page.goto(`${base}/widget/demo.html`);
    await page.evaluate(() => document.querySelector('tertulia-chat:not([mode])').open());
    await page.getByRole('dialog').waitFor();
    await page.evaluate(() => document.querySelector('tertulia-chat:not([mode])').close());
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    host.close();
  },

  async 'a session that the host names is the same in every browser'({ world, base, window }) {
    const host = await hostPage(world, `<script src="${base}/widget.js"></script><tertulia-chat mode="inline" session="customer-42" heading="Help"></tertulia-chat>`);
    const one = await (await window()).tab();
    await one.goto(host.address);
    await one.getByRole('region', { name: 'Help' }).getByRole('textbox').fill('It is me');
    await one.getByText('Hello! How can I help?').waitFor();
    await one.keyboard.press('Enter');
    await one.getByText('You said: It is me').waitFor();
    const two = await (await window({ viewport: { width: 390, height: 780 } })).tab();
    await two.goto(host.address);
    await two.getByText('You said: It is me').waitFor();
    host.close();
  },

  async 'a visitor with a token that the host asked for talks as that user, and nobody else does'({ world, base, window }) {
    const { key } = world.run('keys', 'create', '--name', 'host', '--access', 'write');
    const asHost = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const token = await tokenFor('ana', base, key);
    const host = await hostPage(world, `${kEvents}<script src="${base}/widget.js"></script><tertulia-chat mode="inline" token="wrong"></tertulia-chat>`);
    const page = await (await window()).tab();
    await page.goto(host.address);
    await page.getByRole('alert').getByText('This page has no access to the chat just now.').waitFor();
    // Whoever was turned away is let in with a good one.
    await page.evaluate((good) => document.querySelector('tertulia-chat').setAttribute('token', good), token);
    await page.getByText('Hello! How can I help?').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('It is Ana');
    await page.keyboard.press('Enter');
    await page.getByText('You said: It is Ana').waitFor();
    const of = async (user) => (await (await fetch(`${base}/api/v1/sessions`, { headers: { ...asHost, 'Tertulia-User': user } })).json()).sessions;
    assert.deepEqual((await of('ana')).map(({ metadata }) => metadata.title), ['It is Ana']);
    assert.deepEqual(await of('ben'), []);
    host.close();
  },

  async 'a token that comes while the first question is under way is used for it'({ world, base, window }) {
    const { key } = world.run('keys', 'create', '--name', 'host', '--access', 'write');
    const host = await hostPage(world, `${kEvents}<script src="${base}/widget.js"></script><tertulia-chat mode="inline"></tertulia-chat>`);
    const page = await (await window()).tab();
    let tell;
    const given = new Promise((resolve) => (tell = resolve));
    await page.route('**/api/v1/sessions/*/messages*', async (route) => {
      await given;
      await route.continue();
    });
    const asked = page.waitForRequest('**/api/v1/sessions/*/messages*');
    await page.goto(host.address);
    await asked;
    await page.evaluate((good) => document.querySelector('tertulia-chat').setAttribute('token', good), await tokenFor('ana', base, key));
    tell();
    await page.getByText('Hello! How can I help?').waitFor();
    assert.deepEqual(await page.evaluate(() => window.heard), ['ready']);
    host.close();
  },

  async 'what a tool wants to know is asked of the visitor, and failures are told in words that are for them'({ world, base, model, window }) {
    const host = await hostPage(world, `${kEvents}<script src="${base}/widget.js"></script><tertulia-chat mode="inline" heading="Desk"></tertulia-chat>`);
    const page = await (await window()).tab();
    await page.goto(host.address);
    const panel = page.getByRole('region', { name: 'Desk' });
    const field = panel.getByRole('textbox', { name: 'Message' });
    await panel.getByText('Hello!').waitFor();
    model.plan({ calls: [{ name: 'desk__book', arguments: {} }] }, 'It is booked.');
    await field.fill('Book a table');
    await page.keyboard.press('Enter');
    await panel.getByRole('group', { name: 'May desk__book run?' }).getByRole('button', { name: 'Allow' }).click();
    const form = panel.getByRole('form', { name: 'desk__book wants to know something' });
    await form.getByLabel('day').fill('Monday');
    await form.getByLabel('people').fill('4');
    await judge(page, 'wanted');
    await form.getByRole('button', { name: 'Answer', exact: true }).click();
    await panel.getByText('It is booked.').waitFor();
    assert.match(JSON.stringify(model.asked.at(-1).messages), /accept Monday 4/);
    model.plan({ status: 401 });
    await field.fill('And another');
    await page.keyboard.press('Enter');
    await panel.getByRole('alert').getByText('There is no answer just now.').waitFor();
    await page.waitForFunction(() => window.heard.includes('error'));
    await panel.getByRole('button', { name: 'Retry' }).click();
    await panel.getByText('You said: And another').waitFor();
    // A visitor who comes back is told what has no answer, and may take it back.
    model.plan({ status: 401 });
    await field.fill('The last one');
    await page.keyboard.press('Enter');
    await panel.getByRole('alert').waitFor();
    await page.reload();
    await panel.getByText('The last one').waitFor();
    await panel.getByRole('alert').getByText('There is no answer just now.').waitFor();
    await judge(page, 'widget-unanswered');
    await panel.getByRole('button', { name: 'Discard' }).click();
    await panel.getByText('The last one').waitFor({ state: 'detached' });
    await panel.getByRole('alert').waitFor({ state: 'detached' });
    await field.fill('Hello again');
    await page.keyboard.press('Enter');
    await panel.getByText('You said: Hello again').waitFor();
    assert.equal(await panel.getByText('The last one').count(), 0);
    host.close();
  },

  async 'the example of a host page works on an origin of its own, with a token for each visitor'({ world, base, window }) {
    const { key } = world.run('keys', 'create', '--name', 'host', '--access', 'write');
    const host = spawn(process.execPath, [path('../../examples/widget/host.mjs'), '--server', base, '--port', String(world.hostPort)], { env: { PATH: process.env.PATH, TERTULIA_API_KEY: key } });
    try {
      await once(host.stdout, 'data');
      const page = await (await window()).tab();
      await page.goto(`http://127.0.0.1:${world.hostPort}/`);
      const panel = page.getByRole('region', { name: 'Ask the house' });
      await panel.getByText('Bom dia!').waitFor();
      await page.getByRole('button', { name: 'Is there a room in May?' }).click();
      await panel.getByText('You said: Is there a room in May?').waitFor();
      await page.locator('#heard', { hasText: 'answer You said' }).waitFor();
      await judge(page, 'host');
      await page.getByRole('button', { name: 'Open chat' }).click();
      await page.getByRole('dialog', { name: 'Casa Alfama' }).getByText('Hello!').waitFor();
    } finally {
      host.kill();
    }
  },

  async 'a widget on an origin that is not listed is refused'({ world, base, window }) {
    const host = await hostPage(world, `${kEvents}<script src="${base}/widget.js"></script><tertulia-chat mode="inline"></tertulia-chat>`);
    const page = await (await window()).tab();
    await page.goto(host.address);
    await page.getByRole('alert').getByText('cannot be reached from this page').waitFor();
    assert.deepEqual(await page.evaluate(() => window.heard), ['error']);
    const sessions = await (await fetch(`${base}/api/v1/sessions`)).json();
    assert.deepEqual(sessions.sessions, []);
    host.close();
  },
};
