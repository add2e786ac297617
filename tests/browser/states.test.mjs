// States that one comes into by accident, and the ways out of them; choices that are kept.
import assert from 'node:assert/strict';
import { judge } from './judge.mjs';
import { answered, live, open, questions, say } from './page.mjs';

const tests = {
  async 'a page that is offline says so, and goes on when it is not'({ base, model, window }) {
    const { context, tab } = await window();
    const page = await tab();
    await open(page, base);
    const speech = model.speech().say('one ');
    await say(page, 'Count');
    await live(page, 'one');
    await context.setOffline(true);
    await page.getByText('You are offline').waitFor();
    await judge(page, 'offline');
    await context.setOffline(false);
    await page.getByText('You are offline').waitFor({ state: 'detached' });
    speech.say('two').end();
    await answered(page, 'one two');
    assert.deepEqual(await questions(page), ['Count']);
  },

  async 'a message without an answer says why after a reload, and is tried again, said in other words or taken back'({ base, model, window }) {
    const views = { phone: { width: 390, height: 780 }, desktop: { width: 1280, height: 800 } };
    const page = await (await window()).tab();
    const fails = () => model.plan({ status: 401 });
    await open(page, base);
    await say(page, 'First');
    await answered(page, 'You said: First');
    fails();
    await say(page, 'Hear me');
    const alert = page.getByRole('alert');
    await alert.getByText('The provider refused the key').waitFor();
    // Also to somebody who comes later.
    await page.reload();
    await alert.getByText('The provider refused the key').waitFor();
    assert.deepEqual(await questions(page), ['First', 'Hear me']);
    for (const [name, size] of Object.entries(views)) {
      await page.setViewportSize(size);
      await judge(page, `unanswered-${name}`);
    }
    // In other words.
    await alert.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit message' }).fill('Hear me now');
    await page.keyboard.press('Enter');
    await answered(page, 'You said: Hear me now');
    assert.deepEqual(await questions(page), ['First', 'Hear me now']);
    // Taken back.
    fails();
    await say(page, 'Never mind');
    await alert.getByRole('button', { name: 'Discard' }).click();
    await alert.waitFor({ state: 'detached' });
    await page.reload();
    await answered(page, 'You said: Hear me now');
    assert.deepEqual(await questions(page), ['First', 'Hear me now']);
    // Tried again, after a reload too.
    fails();
    await say(page, 'Once more');
    await alert.waitFor();
    await page.reload();
    await alert.getByRole('button', { name: 'Retry' }).click();
    await answered(page, 'You said: Once more');
    await alert.waitFor({ state: 'detached' });
    // Set aside by what was said next: the history says why.
    fails();
    await say(page, 'Left alone');
    await alert.waitFor();
    model.plan({ status: 401 }, 'This one has an answer.');
    await say(page, 'Last');
    await answered(page, 'This one has an answer.');
    await page.reload();
    await answered(page, 'This one has an answer.');
    const note = page.getByRole('note').filter({ hasText: 'No answer.' });
    await note.getByText('The provider refused the key').waitFor();
    for (const [name, size] of Object.entries(views)) {
      await page.setViewportSize(size);
      await judge(page, `left-alone-${name}`);
    }
    await note.getByRole('button', { name: 'Retry' }).click();
    await answered(page, 'You said: Left alone');
    assert.deepEqual((await questions(page)).slice(-2), ['Once more', 'Left alone']);
  },

  async 'a server that asks for a key is given one, and a wrong one is asked for again'({ world, base, window }) {
    const { key } = world.run('keys', 'create', '--name', 'me', '--access', 'write');
    const page = await (await window()).tab();
    await page.goto(base);
    const dialog = page.getByRole('dialog', { name: 'This server asks for a key' });
    await dialog.waitFor();
    await judge(page, 'key');
    await dialog.getByLabel('Key').fill('tk_wrong');
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await dialog.getByText('not valid').waitFor();
    await dialog.getByLabel('Key').fill(key);
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Agent: Companion' }).waitFor();
    await say(page, 'With a key');
    await answered(page, 'You said: With a key');
  },

  async 'what was asked of an agent goes to it, and settings are kept'({ base, model, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await page.getByRole('button', { name: 'Agent: Companion' }).click();
    await page.getByRole('menuitemradio', { name: 'Tutor' }).click();
    await page.getByText('You talk to Tutor').waitFor();
    await say(page, 'Teach me');
    await answered(page, 'You said: Teach me');
    assert.equal(model.asked.at(-1).model, 'bigger');
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('checkbox', { name: 'Enter sends' }).uncheck();
    await page.getByRole('button', { name: 'Done' }).click();
    const field = page.getByRole('textbox', { name: 'Message', exact: true });
    await field.fill('Half a thou');
    await page.reload();
    await page.getByRole('button', { name: 'Agent: Tutor' }).waitFor();
    assert.equal(await field.inputValue(), 'Half a thou');
    assert.equal(await page.title(), 'Teach me · Tertulia');
    await field.fill('Two');
    await field.press('Enter');
    await field.pressSequentially('lines');
    assert.equal(await field.inputValue(), 'Two\nlines');
    await field.press('Control+Enter');
    await answered(page, 'You said: Two');
  },

  async 'a tool that is always allowed asks no more'({ base, model, window }) {
    const page = await (await window()).tab();
    const sum = { calls: [{ name: 'calculator', arguments: { expression: '6*7' } }] };
    model.plan(sum, 'It is 42.', sum, 'It still is.');
    await open(page, base);
    await say(page, 'Six times seven?');
    await page.getByRole('button', { name: 'Always allow' }).click();
    await answered(page, 'It is 42.');
    await say(page, 'And now?');
    await answered(page, 'It still is.');
    assert.equal(await page.getByRole('button', { name: 'Allow once' }).count(), 0);
  },

  async 'what was recalled is told by its words and by where it is known from'({ base, window }) {
    const post = (path, body) => fetch(`${base}/api/v1/memory/${path}`, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
    await post('documents?wait=true', { source: 'manual.md', format: 'markdown', text: '# Opening hours\n\nThe shop opens at nine on weekdays and at ten on Saturdays.' });
    await post('facts', { text: 'My dog is called Rex' });
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'When does the shop open on Saturdays?');
    await answered(page, 'You said: When');
    await page.getByRole('button', { name: 'Context', exact: true }).click();
    const panel = page.getByRole('tabpanel');
    const kept = panel.locator('.recalled[data-fate=kept]');
    await kept.getByText('The shop opens at nine').waitFor();
    await panel.getByText('left out: not near enough').waitFor();
    await judge(page, 'recalled');
    await kept.getByRole('link', { name: 'manual.md › Opening hours' }).click();
    await page.getByRole('heading', { name: 'Memory', level: 1 }).waitFor();
    await page.getByText('manual.md').waitFor();
  },

  async 'code and answers are copied as they were written'({ base, model, window }) {
    const { context, tab } = await window();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await tab();
    await open(page, base);
    model.plan('Like **this**:\n\n```python\nprint("ça")\n```');
    await say(page, 'How?');
    await answered(page, 'Like this');
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await page.getByRole('button', { name: 'Copy code' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    assert.equal(await copied(), 'print("ça")\n');
    await page.getByRole('button', { name: 'Copy answer' }).click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith('Like **this**'));
  },

  async 'a conversation that is not there, and texts from the right, are shown as they are meant'({ base, model, window }) {
    const page = await (await window()).tab();
    await open(page, base, '/#/c/nowhere');
    await page.getByText('This conversation is not here.').waitFor();
    // What is written there begins one.
    await say(page, 'Is anybody here?');
    await answered(page, 'You said: Is anybody here?');
    assert.doesNotMatch(page.url(), /nowhere/);
    await open(page, base, '/#/c/nowhere');
    await page.getByText('This conversation is not here.').waitFor();
    await page.getByRole('button', { name: 'Begin a new one' }).click();
    model.plan('مرحبا بك\n\n- أولا');
    await say(page, 'ما هو الطقس اليوم؟');
    await answered(page, 'مرحبا');
    for (const part of ['.said .bubble p', '.answer .prose p', '.answer .prose ul']) {
      assert.equal(await page.locator(part).first().evaluate((box) => getComputedStyle(box).direction), 'rtl', part);
    }
    await page.waitForFunction(() => document.querySelector('.thread').scrollWidth <= document.querySelector('.thread').clientWidth);
  },

  async 'whoever reads the end of an answer stays there, and whoever has moved up is left alone'({ base, model, window }) {
    const page = await (await window({ viewport: { width: 900, height: 500 } })).tab();
    const fromEnd = () => page.locator('.thread').evaluate((box) => Math.round(box.scrollHeight - box.scrollTop - box.clientHeight));
    const rich = `${'Some words.\n\n'.repeat(12)}\`\`\`python\ndef f():\n    return 1\n\`\`\`\n\n$$\\frac{a}{b}$$\n\n`;
    await open(page, base);
    const speech = model.speech().say(rich);
    await say(page, 'Talk');
    await live(page, 'Some words.');
    speech.say(`${rich}The end.`).end();
    await answered(page, 'The end.');
    await page.locator('.hljs-keyword').first().waitFor({ state: 'attached' });
    const atEnd = () =>
      page.waitForFunction(() => {
        const box = document.querySelector('.thread');
        return box.scrollHeight - box.scrollTop - box.clientHeight < 2;
      });
    await atEnd();
    // Also where rows of another height come in, as on a branch that has just begun.
    await say(page, 'And?');
    await answered(page, 'You said: And?');
    await atEnd();
    await page.locator('.said').last().hover();
    await page.getByRole('button', { name: 'Edit message' }).last().click();
    await page.getByRole('textbox', { name: 'Edit message' }).fill('Or?');
    await page.keyboard.press('Enter');
    await answered(page, 'You said: Or?');
    await page.locator('.switcher', { hasText: '2/2' }).waitFor();
    await atEnd();
    const more = model.speech().say('First.\n\n');
    await say(page, 'More');
    await live(page, 'First.');
    await page.mouse.move(450, 200);
    await page.mouse.wheel(0, -300);
    await page.getByRole('button', { name: 'To the latest message' }).waitFor();
    more.say('Later.\n\n'.repeat(20)).end();
    await page.locator('.answer.live').waitFor({ state: 'detached' });
    assert.ok((await fromEnd()) > 200);
  },

  async 'the end of a conversation stays in sight when something takes room below it'({ base, model, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    for (const answer of ['Short.', `${'Some words.\n\n'.repeat(12)}Long.`, 'Last.']) {
      model.plan(answer);
      await say(page, 'Talk');
      await answered(page, answer.slice(-5));
    }
    // Line by line, so that it is now as much as one message takes and now less.
    for (let lines = 1; lines <= 6; ++lines) {
      const before = await page.locator('.thread').evaluate((box) => box.clientHeight);
      await page.getByRole('textbox', { name: 'Message', exact: true }).fill('line\n'.repeat(lines));
      await page.waitForFunction((height) => {
        const box = document.querySelector('.thread');
        return box.clientHeight < height && box.scrollHeight - box.scrollTop - box.clientHeight < 2;
      }, before);
    }
  },
};

export default tests;
export const settings = {
  'a server that asks for a key is given one, and a wrong one is asked for again': '[server]\nkey_required = true\n',
  'what was asked of an agent goes to it, and settings are kept': (world) =>
    `[models.big]\nprovider = "openai-compatible"\nmodel = "bigger"\nbase_url = "${world.model.address}"\n[agents.tutor]\nname = "Tutor"\nmodel = "big"\n`,
};
