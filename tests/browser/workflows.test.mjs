import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fitsWidth, judge } from './judge.mjs';
import { answered } from './page.mjs';

// A writer and a critic, one after the other; in the second one a person looks at what the writer wrote.
const declared = (name, more = '') => `[workflow]
name = "${name}"
kind = "sequential"
participants = ["writer", "critic"]
${more}
[agents.writer]
instructions = "You are the writer."
model = "test"
[agents.critic]
instructions = "You are the critic."
model = "test"
`;
export const workflows = (world) => {
  const file = (name, text) => {
    const path = join(world.folder, `${name}.toml`);
    writeFileSync(path, text);
    return `[workflows.${name}]\nfile = "${path}"\n`;
  };
  const desk = `[mcp.desk]\ncommand = "${process.execPath}"\nargs = ["${fileURLToPath(new URL('../support/asking_mcp_server.mjs', import.meta.url))}"]\n`;
  const booked = declared('booked').replace('[agents.critic]', 'tools = ["mcp.desk"]\npermissions = { unsafe = "ask" }\n[agents.critic]');
  return file('review', declared('review')) + file('checked', declared('checked', 'review = ["writer"]')) + file('booked', booked) + desk;
};

const go = async (page, base, workflow = 'review') => {
  await page.goto(`${base}/#/workflows/${workflow}`);
  await page.locator('[data-node=writer]').waitFor();
};
const begin = async (page, text) => {
  await page.getByRole('textbox', { name: 'Message to the workflow' }).fill(text);
  await page.keyboard.press('Enter');
};
const doing = (page, node, what) => page.locator(`[data-node=${node}][data-doing=${what}]`).waitFor();
const said = (page) => page.locator('.speech .prose').allInnerTexts();
const ended = (page, how) => page.getByRole('region', { name: 'This run' }).getByText(how, { exact: true }).waitFor();

const tests = {
  async 'participants light up as they speak, and the run is kept'({ base, model, window }) {
    const page = await (await window()).tab();
    await go(page, base);
    await page.getByText('Nobody has run it yet.').waitFor();
    const writer = model.speech().say('Porto is ');
    await begin(page, 'A line about Porto');
    await doing(page, 'writer', 'speaking');
    await page.locator('.speech', { hasText: 'Porto is' }).waitFor();
    assert.equal(await page.locator('[data-node=critic]').getAttribute('data-doing'), null);
    const critic = model.speech().say('Well ');
    writer.say('old.').end();
    await doing(page, 'writer', 'done');
    await doing(page, 'critic', 'speaking');
    critic.say('said.').end();
    await ended(page, 'completed');
    await doing(page, 'critic', 'done');
    assert.deepEqual(await said(page), ['Porto is old.', 'Well said.']);
    await page.locator('.past-runs li.here', { hasText: 'A line about Porto' }).waitFor();
    await page.reload();
    await ended(page, 'completed');
    await page.locator('.said', { hasText: 'A line about Porto' }).waitFor();
    assert.deepEqual(await said(page), ['Porto is old.', 'Well said.']);
    await page.getByRole('button', { name: 'Open it as a conversation' }).click();
    await answered(page, 'Well said.');
    // Who said what is told there, too, when the page knows its agents.
    await page.locator('.answer .speaker', { hasText: 'critic' }).waitFor();
    assert.deepEqual(await page.locator('.answer .speaker').allInnerTexts(), ['writer', 'critic']);
  },

  async 'a question is answered in place, and the other tab sees it'({ base, model, window }) {
    const both = await window();
    const one = await both.tab();
    await go(one, base, 'checked');
    model.plan('A first draft.');
    await begin(one, 'Write something');
    await one.getByRole('form', { name: 'Is what writer wrote good as it is?' }).waitFor();
    await doing(one, 'writer', 'waiting');
    const two = await both.tab();
    await two.goto(one.url());
    model.plan('A second draft.');
    await two.getByRole('textbox', { name: 'Or say what should be different' }).fill('Shorter, please');
    await two.getByRole('button', { name: 'Send' }).click();
    await two.locator('.speech', { hasText: 'A second draft.' }).waitFor();
    await two.getByRole('button', { name: 'Approve' }).waitFor();
    assert.ok(JSON.stringify(model.asked.at(-1).messages).includes('Shorter, please'));
    model.plan('Fine.');
    await two.getByRole('button', { name: 'Approve' }).click();
    await ended(two, 'completed');
    assert.deepEqual(await said(two), ['A first draft.', 'A second draft.', 'Fine.']);
    await one.reload();
    await ended(one, 'completed');
    assert.deepEqual(await said(one), ['A first draft.', 'A second draft.', 'Fine.']);
  },

  async 'what a server wants to know is filled in where the run waits for it'({ base, model, window }) {
    const page = await (await window()).tab();
    await go(page, base, 'booked');
    const books = (asked) => ({ calls: [{ name: asked.tools[0].function.name, arguments: {} }] });
    const repeats = (asked) => `It says: ${asked.messages.at(-1).content}`;
    model.plan(books, repeats, 'Fine.');
    await begin(page, 'Book a table');
    await page.getByRole('group', { name: /^May .* run\?$/ }).getByRole('button', { name: 'Allow once' }).click();
    const form = page.getByRole('form', { name: 'desk__book wants to know something' });
    await form.getByText('Which day?').waitFor();
    // Another tab has it as well.
    await page.reload();
    await form.getByRole('textbox', { name: 'day' }).fill('Monday');
    await form.getByRole('spinbutton', { name: 'people' }).fill('4');
    await judge(page, 'asked');
    await form.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.locator('.speech', { hasText: 'It says: accept Monday 4' }).waitFor();
    await form.waitFor({ state: 'detached' });
    await ended(page, 'completed');
    await page.getByRole('link', { name: 'New run' }).click();
    await page.getByRole('region', { name: 'This run' }).waitFor({ state: 'detached' });
    model.plan(books, repeats, 'Fine.');
    await begin(page, 'Another');
    await page.getByRole('button', { name: 'Allow once' }).click();
    await form.getByRole('button', { name: 'No answer' }).click();
    await page.locator('.speech', { hasText: 'It says: decline nothing' }).waitFor();
    await ended(page, 'completed');
  },

  async 'a run goes another way from a checkpoint, and the first one stays'({ base, model, window }) {
    const page = await (await window()).tab();
    await go(page, base);
    model.plan('Porto is old.', 'Well said.');
    await begin(page, 'A line about Porto');
    await ended(page, 'completed');
    const first = page.url();
    model.plan('Could be better.');
    await page.getByRole('list', { name: 'Checkpoints' }).getByRole('listitem').filter({ hasText: 'after step 1' }).getByRole('button').click();
    await page.waitForURL((url) => url.href !== first);
    await ended(page, 'completed');
    await page.locator('.speech', { hasText: 'Could be better.' }).waitFor();
    await page.locator('.past-runs li', { hasText: 'a fork' }).waitFor();
    await page.locator('.past-runs li:not(.here) a').click();
    await page.locator('.speech', { hasText: 'Well said.' }).waitFor();
    assert.equal(page.url(), first);
  },

  async 'a run that failed says why and goes on, and one that runs can be stopped'({ base, model, window }) {
    const page = await (await window()).tab();
    await go(page, base);
    model.plan('Porto is old.', { status: 401 });
    await begin(page, 'A line about Porto');
    await page.getByRole('alert').waitFor();
    await doing(page, 'critic', 'failed');
    model.plan('Well said.');
    await page.getByRole('alert').getByRole('button', { name: 'Resume the run' }).click();
    await ended(page, 'completed');
    assert.deepEqual(await said(page), ['Porto is old.', 'Well said.']);
    await page.getByRole('link', { name: 'New run' }).click();
    await page.getByRole('region', { name: 'This run' }).waitFor({ state: 'detached' });
    const speech = model.speech().say('Going on and ');
    await begin(page, 'Another');
    await page.locator('.speech', { hasText: 'Going on and' }).waitFor();
    await page.getByRole('button', { name: 'Stop the run' }).click();
    await page.getByText('The run was stopped here.').waitFor();
    speech.end();
  },

  async 'a server that is killed in mid-run goes on with it, no word twice'({ world, base, model, window }) {
    const page = await (await window()).tab();
    await go(page, base);
    model.plan('Porto is old.');
    const critic = model.speech().say('Well ');
    await begin(page, 'A line about Porto');
    await page.locator('.speech', { hasText: 'Well' }).waitFor();
    await world.kill();
    model.plan('Well said.');
    await world.start();
    critic.end();
    await ended(page, 'completed');
    assert.deepEqual(await said(page), ['Porto is old.', 'Well said.']);
  },

  async 'workflows are usable by everybody, light and dark, wide and narrow'({ base, model, window }) {
    for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark', viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }]) {
      const { tab, context } = await window(options);
      const page = await tab();
      await go(page, base, 'checked');
      await judge(page, `${options.colorScheme}, before`);
      await fitsWidth(page);
      model.plan('A first draft.');
      await begin(page, 'Write something');
      await page.getByRole('button', { name: 'Approve' }).waitFor();
      await page.getByRole('list', { name: 'Checkpoints' }).waitFor();
      await judge(page, `${options.colorScheme}, asked`);
      await fitsWidth(page);
      await page.getByRole('button', { name: 'Approve' }).click();
      await ended(page, 'completed');
      await judge(page, `${options.colorScheme}, completed`);
      await context.close();
    }
  },
};

export default tests;
export const settings = Object.fromEntries(Object.keys(tests).map((name) => [name, workflows]));
