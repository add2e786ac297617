import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { answered, answers, live, open, questions, say } from './page.mjs';

export default {
  async 'a first chat is answered, kept and listed'({ base, model, window }) {
    const page = await (await window()).tab();
    model.plan('Good **evening**, Ana.');
    await open(page, base);
    await say(page, 'Hello, I am Ana');
    await answered(page, 'Good evening, Ana.');
    assert.equal(await page.locator('.answer strong').innerText(), 'evening');
    await page.getByRole('navigation').getByRole('link', { name: 'Hello, I am Ana' }).waitFor();
    await page.reload();
    await answered(page, 'Good evening, Ana.');
    assert.deepEqual(await questions(page), ['Hello, I am Ana']);
  },

  async 'a page that is loaded again in mid-stream goes on with the answer'({ base, model, window }) {
    const page = await (await window()).tab();
    const speech = model.speech().say('one two ');
    await open(page, base);
    await say(page, 'Count');
    await live(page, 'one two');
    await page.reload();
    await live(page, 'one two');
    assert.deepEqual(await questions(page), ['Count']);
    speech.say('three').end();
    await answered(page, 'one two three');
    assert.deepEqual(await answers(page), ['one two three']);
  },

  async 'a server that is killed in mid-stream comes back with the answer, no word twice'({ world, base, model, window }) {
    const page = await (await window()).tab();
    const speech = model.speech().say('alpha beta ');
    await open(page, base);
    await say(page, 'Greek letters');
    await live(page, 'alpha beta');
    await world.kill();
    await page.getByText('The server cannot be reached').waitFor();
    model.plan('alpha beta gamma');
    await world.start();
    speech.end();
    await answered(page, 'alpha beta gamma');
    assert.deepEqual(await answers(page), ['alpha beta gamma']);
    await page.getByText('The server cannot be reached').waitFor({ state: 'detached' });
  },

  async 'the search finds what was said in conversations that go on'({ base, model, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'Tell me of animals');
    await answered(page, 'You said: Tell me of animals');
    model.plan('The **okapi** is shy.');
    await say(page, 'Another one');
    await answered(page, 'The okapi is shy.');
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.locator('.answer').first().waitFor({ state: 'detached' });
    await page.getByRole('searchbox', { name: 'Search conversations' }).fill('shy oka');
    const found = page.getByRole('region', { name: 'Said before' }).getByRole('button');
    await found.first().waitFor();
    assert.match(await found.first().innerText(), /Tell me of animals[^]*okapi/);
    await found.first().click();
    await answered(page, 'The okapi is shy.');
    assert.deepEqual(await questions(page), ['Tell me of animals', 'Another one']);
  },

  async 'two tabs on one conversation see the same'({ base, model, window }) {
    const both = await window();
    const one = await both.tab();
    await open(one, base);
    await say(one, 'First');
    await answered(one, 'You said: First');
    const two = await both.tab();
    await open(two, base, new URL(one.url()).hash.replace(/^/, '/'));
    await answered(two, 'You said: First');
    const speech = model.speech().say('shared ');
    await say(one, 'Second');
    await live(two, 'shared');
    await two.locator('.said', { hasText: 'Second' }).waitFor();
    assert.deepEqual(await questions(two), ['First', 'Second']);
    speech.say('word').end();
    await answered(one, 'shared word');
    await answered(two, 'shared word');
  },

  async 'another browser shows what was asked while it is being answered'({ world, base, model, window }) {
    const one = await (await window()).tab();
    const speech = model.speech().say('far ');
    await open(one, base);
    await say(one, 'Can you hear me?');
    await live(one, 'far');
    const two = await (await window({ viewport: { width: 390, height: 780 } })).tab();
    await open(two, base, `/${new URL(one.url()).hash}`);
    await live(two, 'far');
    assert.deepEqual(await questions(two), ['Can you hear me?']);
    // Also when nothing runs: the server is gone, and the model with it.
    await world.kill();
    model.plan({ status: 401 });
    await world.start();
    await two.getByRole('alert').waitFor();
    const three = await (await window()).tab();
    await open(three, base, `/${new URL(one.url()).hash}`);
    await three.getByRole('alert').waitFor();
    assert.deepEqual(await questions(three), ['Can you hear me?']);
    model.plan('far away');
    await three.getByRole('button', { name: 'Retry' }).click();
    await answered(three, 'far away');
    assert.deepEqual(await questions(three), ['Can you hear me?']);
    speech.end();
  },

  async 'an edited message begins a branch, and one can go back'({ base, model, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'A');
    await answered(page, 'You said: A');
    await say(page, 'B');
    await answered(page, 'You said: B');
    await page.locator('.said').last().hover();
    await page.getByRole('button', { name: 'Edit message' }).last().click();
    await page.getByRole('textbox', { name: 'Edit message' }).fill('C');
    await page.keyboard.press('Enter');
    await answered(page, 'You said: C');
    assert.deepEqual(await questions(page), ['A', 'C']);
    await page.locator('.switcher', { hasText: '2/2' }).waitFor();
    await page.getByRole('button', { name: 'Previous version' }).click();
    await answered(page, 'You said: B');
    assert.deepEqual(await questions(page), ['A', 'B']);
    model.plan('A third way');
    await page.locator('.answer').last().hover();
    await page.getByRole('button', { name: 'Answer again' }).last().click();
    await answered(page, 'A third way');
    await page.locator('.switcher', { hasText: '3/3' }).waitFor();
    await page.getByRole('button', { name: 'Branches', exact: true }).click();
    assert.equal(await page.locator('.tree .node').count(), 3);
    await page.locator('.tree .node', { hasText: 'C' }).locator('.node-face').click();
    await answered(page, 'You said: C');
    await page.getByRole('button', { name: 'More for main' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Name of the branch' }).fill('The first way');
    await page.keyboard.press('Enter');
    await page.locator('.tree .node', { hasText: 'The first way' }).waitFor();
    await page.getByRole('button', { name: 'More for Another answer' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.locator('.tree .node').nth(2).waitFor({ state: 'detached' });
    await page.locator('.switcher', { hasText: '2/2' }).waitFor();
  },

  async 'the first message can be said anew, and all beginnings are one conversation'({ base, window }) {
    const page = await (await window()).tab();
    const list = page.getByRole('navigation');
    await open(page, base);
    await say(page, 'First try');
    await answered(page, 'You said: First try');
    const edit = async (text) => {
      await page.locator('.said').hover();
      await page.getByRole('button', { name: 'Edit message' }).click();
      await page.getByRole('textbox', { name: 'Edit message' }).fill(text);
      await page.keyboard.press('Enter');
      await answered(page, `You said: ${text}`);
    };
    await edit('Second try');
    await page.locator('.switcher', { hasText: '2/2' }).waitFor();
    await page.getByRole('button', { name: 'Previous version' }).click();
    await answered(page, 'You said: First try');
    await page.locator('.switcher', { hasText: '1/2' }).waitFor();
    assert.equal(await page.locator('.sessions li').count(), 1);
    await page.locator('.sessions li.here').waitFor();
    await page.getByRole('button', { name: 'Branches', exact: true }).click();
    const beginnings = page.getByRole('list', { name: 'Beginnings' });
    await beginnings.getByText('Second try').click();
    await answered(page, 'You said: Second try');
    // A name that was given stays with the conversation.
    await list.getByRole('button', { name: /More for/ }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Name of the conversation' }).fill('Tries');
    await page.keyboard.press('Enter');
    await list.getByRole('link', { name: 'Tries' }).waitFor();
    await edit('Third try');
    await page.locator('.switcher', { hasText: '3/3' }).waitFor();
    assert.equal(await page.locator('.sessions li').count(), 1);
    await list.getByRole('link', { name: 'Tries' }).waitFor();
    await beginnings.getByRole('button', { name: 'More for beginning 1' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.locator('.switcher', { hasText: '2/2' }).waitFor();
    // Deleting the conversation means all of it.
    await list.getByRole('button', { name: 'More for Tries' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('the other way it was begun').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await list.getByText('Conversations you begin are kept here.').waitFor();
    await page.reload();
    await list.getByText('Conversations you begin are kept here.').waitFor();
  },

  async 'a permission is asked, and the other tab can give it'({ base, model, window }) {
    const both = await window();
    const one = await both.tab();
    model.plan({ calls: [{ name: 'calculator', arguments: { expression: '6*7' } }] }, 'It is 42.');
    await open(one, base);
    await say(one, 'Six times seven?');
    await one.getByRole('group', { name: 'May calculator run?' }).waitFor();
    const two = await both.tab();
    await open(two, base, `/${new URL(one.url()).hash}`);
    await two.getByRole('button', { name: 'Allow once' }).click();
    await answered(one, 'It is 42.');
    await answered(two, 'It is 42.');
    assert.equal(await one.getByRole('group', { name: 'May calculator run?' }).count(), 0);
    await one.getByRole('region', { name: 'Tool calculator' }).getByRole('button').first().click();
    await one.locator('.tool-text', { hasText: 'Result' }).getByText('42').waitFor();
    await one.locator('.tool-facts', { hasText: 'permission: once' }).waitFor();
  },

  async 'all of what a tool would run with is shown before it may run'({ base, model, window }) {
    const page = await (await window()).tab();
    model.plan({ calls: [{ name: 'calculator', arguments: { expression: `6*7${' '.repeat(6000)}+1` } }] }, 'It is 43.');
    await open(page, base);
    await say(page, 'How much is it?');
    const asked = page.getByRole('group', { name: 'May calculator run?' });
    await asked.waitFor();
    assert.match(await asked.locator('pre').textContent(), /\+1"/);
    await asked.getByText(/All 6,\d+ characters are shown/).waitFor();
    await asked.getByRole('button', { name: 'Allow once' }).click();
    await answered(page, 'It is 43.');
  },

  async 'what a server wants to know is filled in where its tool runs'({ base, model, window }) {
    const page = await (await window()).tab();
    model.plan({ calls: [{ name: 'desk__book', arguments: {} }] }, 'It is booked.');
    await open(page, base);
    await say(page, 'Book a table');
    await page.getByRole('button', { name: 'Allow once' }).click();
    const form = page.getByRole('form', { name: 'desk__book wants to know something' });
    await form.getByText('Which day?').waitFor();
    await form.getByRole('button', { name: 'Answer', exact: true }).click();
    await form.getByLabel('day').fill('Monday');
    await form.getByLabel('people').fill('4');
    await form.getByLabel('people').press('Enter');
    await answered(page, 'It is booked.');
    assert.equal(await form.count(), 0);
    await page.getByRole('region', { name: 'Tool desk__book' }).getByRole('button').first().click();
    await page.locator('.tool-text', { hasText: 'Result' }).getByText('accept Monday 4').waitFor();
  },

  async 'people are asked about one tool after the other, and those behind it are not said to run'({ base, model, window }) {
    const page = await (await window()).tab();
    const sum = (expression) => ({ name: 'calculator', arguments: { expression } });
    model.plan({ calls: [sum('1+1'), sum('2+2')] }, 'Two and four.');
    await open(page, base);
    await say(page, 'Two sums');
    await page.getByRole('button', { name: 'Allow once' }).waitFor();
    assert.deepEqual(await page.locator('.tool-state').allInnerTexts(), ['waits for you', 'waits']);
    await page.getByRole('button', { name: 'Always allow' }).click();
    await answered(page, 'Two and four.');
    assert.deepEqual(await page.locator('.tool').evaluateAll((cards) => cards.map((card) => card.dataset.state)), ['ok', 'ok']);
  },

  async 'a denied tool does not run, and the answer goes on'({ base, model, window }) {
    const page = await (await window()).tab();
    model.plan({ calls: [{ name: 'calculator', arguments: { expression: '6*7' } }] }, 'Then not.');
    await open(page, base);
    await say(page, 'Six times seven?');
    await page.getByRole('button', { name: 'Deny' }).click();
    await answered(page, 'Then not.');
    await page.locator('.tool[data-state=denied]').waitFor();
  },

  async 'an answer that is stopped keeps what was said'({ base, model, window }) {
    const page = await (await window()).tab();
    const speech = model.speech().say('as far as ');
    await open(page, base);
    await say(page, 'Talk');
    await live(page, 'as far as');
    await page.getByRole('button', { name: 'Stop the answer' }).click();
    await answered(page, 'as far as');
    await page.getByText('The answer was stopped here.').waitFor();
    speech.end();
  },

  async 'a message that is sent meanwhile waits its turn'({ base, model, window }) {
    const page = await (await window()).tab();
    const speech = model.speech().say('first ');
    await open(page, base);
    await say(page, 'One');
    await live(page, 'first');
    await say(page, 'Two');
    await page.locator('.said.queued', { hasText: 'Two' }).waitFor();
    speech.say('done').end();
    await answered(page, 'You said: Two');
    assert.deepEqual(await questions(page), ['One', 'Two']);
    assert.deepEqual(await answers(page), ['first done', 'You said: Two']);
  },

  async 'a model that cannot be had is said, and going on with the turn answers it'({ base, model, window }) {
    const page = await (await window()).tab();
    model.plan({ status: 401 });
    await open(page, base);
    await say(page, 'Are you there?');
    await page.getByRole('alert').waitFor();
    await page.getByRole('alert').getByRole('button').first().click();
    await answered(page, 'You said: Are you there?');
    assert.deepEqual(await questions(page), ['Are you there?']);
  },

  async 'a returning visitor finds the conversations, can rename, pin, search and delete them'({ base, window }) {
    const own = await window();
    const page = await own.tab();
    await open(page, base);
    await say(page, 'About gardens');
    await answered(page, 'You said: About gardens');
    await page.getByRole('button', { name: 'New conversation' }).click();
    await say(page, 'About boats');
    await answered(page, 'You said: About boats');
    const again = await own.tab();
    await open(again, base);
    const list = again.getByRole('navigation');
    await list.getByRole('link', { name: 'About gardens' }).waitFor();
    await list.getByRole('searchbox').fill('boat');
    await list.getByRole('link', { name: 'About gardens' }).waitFor({ state: 'detached' });
    await list.getByRole('button', { name: 'More for About boats' }).click();
    await again.getByRole('menuitem', { name: 'Rename' }).click();
    await again.getByRole('textbox', { name: 'Name of the conversation' }).fill('All about boats');
    await again.keyboard.press('Enter');
    await list.getByRole('link', { name: 'All about boats' }).waitFor();
    await list.getByRole('button', { name: 'More for All about boats' }).click();
    await again.getByRole('menuitem', { name: 'Pin' }).click();
    await list.getByRole('region', { name: 'Pinned' }).waitFor();
    await list.getByRole('button', { name: 'More for All about boats' }).click();
    await again.getByRole('menuitem', { name: 'Delete' }).click();
    await again.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await list.getByText('Nothing is called').waitFor();
    await list.getByRole('searchbox').fill('');
    await list.getByRole('link', { name: 'About gardens' }).click();
    await answered(again, 'You said: About gardens');
  },

  async 'the context panel shows what the model was given'({ base, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'What do you see?');
    await answered(page, 'You said');
    await page.getByRole('button', { name: 'Context', exact: true }).click();
    const panel = page.getByRole('tabpanel');
    await panel.getByText('tokens', { exact: false }).first().waitFor();
    await panel.getByRole('heading', { name: 'Message' }).waitFor();
    await panel.locator('.item-name', { hasText: 'What do you see?' }).waitFor();
  },

  async 'two branches are compared, and one takes over what the other said'({ base, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'Common');
    await answered(page, 'You said: Common');
    await say(page, 'Left');
    await answered(page, 'You said: Left');
    await page.locator('.said').last().hover();
    await page.getByRole('button', { name: 'Edit message' }).last().click();
    await page.getByRole('textbox', { name: 'Edit message' }).fill('Right');
    await page.keyboard.press('Enter');
    await answered(page, 'You said: Right');
    await page.getByRole('button', { name: 'Branches', exact: true }).click();
    await page.getByRole('button', { name: 'More for main' }).click();
    await page.getByRole('menuitem', { name: 'Compare' }).click();
    await page.getByText('2 messages in common').waitFor();
    assert.deepEqual(await page.locator('.diff li').allInnerTexts(), ['Right', 'You said: Right', 'Left', 'You said: Left']);
    await page.getByRole('button', { name: 'Take “main” over' }).click();
    await answered(page, 'You said: Left');
    assert.deepEqual(await questions(page), ['Common', 'Right', 'Left']);
    await page.getByText('1 turn was taken over.').waitFor();
  },

  async 'a message that steers is heard by the running turn'({ base, model, window }) {
    const page = await (await window()).tab();
    model.plan({ calls: [{ name: 'calculator', arguments: { expression: '1+1' } }] }, 'In French: deux.');
    await open(page, base);
    await say(page, 'One and one?');
    await page.getByRole('button', { name: 'Allow once' }).waitFor();
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('In French, please');
    await page.getByRole('button', { name: 'Steer' }).click();
    await page.getByText('The agent hears it').waitFor();
    await page.getByRole('button', { name: 'Allow once' }).click();
    await answered(page, 'In French: deux.');
    assert.deepEqual(await questions(page), ['One and one?', 'In French, please']);
    assert.ok(JSON.stringify(model.asked.at(-1).messages).includes('In French, please'));
  },
};

// Goes on where the table of the agent ends.
const desk = `tools = ["mcp.desk"]
[mcp.desk]
command = "${process.execPath}"
args = ["${fileURLToPath(new URL('../support/asking_mcp_server.mjs', import.meta.url))}"]
`;
export const settings = { 'what a server wants to know is filled in where its tool runs': desk };
