// The list of conversations, and what is half written in each of them.
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { judge } from './judge.mjs';
import { answered, open, questions, say } from './page.mjs';

const begin = async (base, id, metadata) => {
  const response = await fetch(`${base}/api/v1/sessions`, { method: 'POST', body: JSON.stringify({ id, metadata }), headers: { 'Content-Type': 'application/json' } });
  assert.equal(response.status, 201, await response.text());
};
const menu = async (page, name, item) => {
  await page.getByRole('navigation').getByRole('button', { name: `More for ${name}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
};
const focused = (page, selector) => page.waitForFunction((wanted) => document.activeElement.matches(wanted), selector);

export default {
  async 'a name that is being changed is kept by Enter and left by Escape, and the keyboard goes on from there'({ base, window }) {
    await begin(base, 'one', { title: 'Gardens' });
    const page = await (await window()).tab();
    const asked = [];
    page.on('request', (request) => request.method() === 'PATCH' && asked.push(request.postData()));
    await open(page, base);
    const list = page.getByRole('navigation');
    const field = page.getByRole('textbox', { name: 'Name of the conversation' });
    await menu(page, 'Gardens', 'Rename');
    await field.fill('Not this');
    await page.keyboard.press('Escape');
    await list.getByRole('link', { name: 'Gardens' }).waitFor();
    await focused(page, '.sessions a');
    await menu(page, 'Gardens', 'Rename');
    await field.fill('Boats');
    await page.keyboard.press('Enter');
    await list.getByRole('link', { name: 'Boats' }).waitFor();
    await focused(page, '.sessions a');
    await menu(page, 'Boats', 'Rename');
    await field.fill('Ships');
    await page.getByRole('textbox', { name: 'Message', exact: true }).click();
    await list.getByRole('link', { name: 'Ships' }).waitFor();
    assert.deepEqual(asked.map((body) => JSON.parse(body).metadata.title), ['Boats', 'Ships']);
  },

  async 'a conversation that nobody has named is known by its first words'({ base, window }) {
    const say = (session, message) => fetch(`${base}/api/v1/turns`, { method: 'POST', body: JSON.stringify({ session, message }), headers: { 'Content-Type': 'application/json' } });
    await say('7f3a', 'How do roses grow?');
    await begin(base, 'nothing-said');
    const page = await (await window()).tab();
    await open(page, base);
    const list = page.getByRole('navigation');
    await list.getByRole('link', { name: 'How do roses grow?' }).click();
    await page.getByRole('heading', { name: 'How do roses grow?', level: 1 }).waitFor();
    await list.getByRole('link', { name: 'nothing-said' }).waitFor();
  },

  async 'a list that was asked for before a change does not undo it'({ base, window }) {
    await begin(base, 'one', { title: 'Gardens' });
    const page = await (await window()).tab();
    await open(page, base);
    const list = page.getByRole('navigation');
    await list.getByRole('link', { name: 'Gardens' }).waitFor();
    // The next list is read now and told later.
    let tell;
    const told = new Promise((resolve) => (tell = resolve));
    let read;
    const isRead = new Promise((resolve) => (read = resolve));
    let first = true;
    await page.route('**/api/v1/sessions?limit=100', async (route) => {
      if (!first) return route.continue();
      first = false;
      const response = await route.fetch();
      read();
      await told;
      await route.fulfill({ response });
    });
    await page.evaluate(() => new BroadcastChannel('tertulia').postMessage({ session: 'another' }));
    await isRead;
    await menu(page, 'Gardens', 'Rename');
    await page.getByRole('textbox', { name: 'Name of the conversation' }).fill('Boats');
    await page.keyboard.press('Enter');
    await list.getByRole('link', { name: 'Boats' }).waitFor();
    const old = page.waitForResponse((response) => response.url().endsWith('/sessions?limit=100'));
    tell();
    await old;
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await list.getByRole('link', { name: 'Boats' }).waitFor();
    assert.equal(await list.getByRole('link', { name: 'Gardens' }).count(), 0);
  },

  async 'what is pinned is seen however old it is, and a long list stays where it was read to'({ base, window }) {
    await begin(base, 'oldest', { title: 'The oldest', pinned: true });
    for (let number = 1; number <= 130; ++number) await begin(base, `s${number}`, { title: `Number ${number}` });
    const page = await (await window()).tab();
    await open(page, base);
    const list = page.getByRole('navigation');
    await list.getByRole('region', { name: 'Pinned' }).getByRole('link', { name: 'The oldest' }).waitFor();
    assert.equal(await list.getByRole('link', { name: 'Number 1', exact: true }).count(), 0);
    const box = page.locator('.sessions');
    await box.evaluate((one) => (one.scrollTop = one.scrollHeight));
    await list.getByRole('link', { name: 'Number 1', exact: true }).waitFor();
    await begin(base, 'new', { title: 'From another tab' });
    await page.evaluate(() => new BroadcastChannel('tertulia').postMessage({ session: 'new' }));
    await list.getByRole('link', { name: 'From another tab' }).waitFor();
    assert.equal(await list.getByRole('link', { name: 'Number 1', exact: true }).count(), 1);
    assert.equal(await list.getByRole('link').filter({ hasText: 'Number' }).count(), 130);
  },

  async 'what is typed right behind a click on New conversation is said there'({ base, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'About gardens');
    await answered(page, 'You said: About gardens');
    // Before the browser tells the page that its address has changed.
    await page.evaluate(async () => {
      document.querySelector('button.new').click();
      await new Promise((resolve) => queueMicrotask(() => queueMicrotask(resolve)));
      document.querySelector('.composer textarea').value = 'About boats';
      document.querySelector('.composer textarea').dispatchEvent(new InputEvent('input', { bubbles: true }));
    });
    await page.locator('.composer textarea').press('Enter');
    await answered(page, 'You said: About boats');
    await page.getByRole('navigation').getByRole('link', { name: 'About boats' }).waitFor();
    assert.deepEqual(await questions(page), ['About boats']);
  },

  async 'what is half written stays in its conversation'({ base, window }) {
    const page = await (await window()).tab();
    const field = page.getByRole('textbox', { name: 'Message', exact: true });
    const list = page.getByRole('navigation');
    const holds = (text) => page.waitForFunction((wanted) => document.querySelector('.composer textarea').value === wanted, text);
    await open(page, base);
    await say(page, 'About gardens');
    await answered(page, 'You said: About gardens');
    await holds('');
    await field.fill('And the roses');
    await page.getByRole('button', { name: 'New conversation' }).click();
    await holds('');
    await field.fill('Something else');
    await list.getByRole('link', { name: 'About gardens' }).click();
    await holds('And the roses');
    await page.reload();
    await holds('And the roses');
    await page.keyboard.press('Enter');
    await answered(page, 'You said: And the roses');
    await holds('');
    await page.getByRole('button', { name: 'New conversation' }).click();
    await holds('Something else');
  },

  async 'a conversation that is damaged is listed as one, and is in the way of no other'({ world, base, window }) {
    await begin(base, 'broken', { title: 'Broken' });
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'About gardens');
    await answered(page, 'You said: About gardens');
    await world.kill();
    const files = readdirSync(join(world.folder, 'data'), { recursive: true }).filter((name) => /broken~[^/]*\/session\.json$/.test(name));
    assert.equal(files.length, 1);
    writeFileSync(join(world.folder, 'data', files[0]), 'not what it was');
    await world.start();
    await page.goto(base);
    const list = page.getByRole('navigation');
    await list.getByRole('region', { name: 'Damaged' }).getByText('broken (damaged)').waitFor();
    await page.getByRole('button', { name: 'New conversation' }).click();
    await say(page, 'About boats');
    await answered(page, 'You said: About boats');
    await list.getByRole('link', { name: 'About gardens' }).click();
    await answered(page, 'You said: About gardens');
    await judge(page, 'damaged');
  },
};

export const settings = { 'a conversation that is damaged is listed as one, and is in the way of no other': '[store]\nkind = "json"\n' };
