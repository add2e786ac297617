import assert from 'node:assert/strict';
import { fitsWidth, judge } from './judge.mjs';
import { answered, live, open, say } from './page.mjs';

// Beside the model that the agent has, another one at the same place, and one whose key is missing.
const others = (world) => `[models.fast]
provider = "openai-compatible"
model = "fast-1"
base_url = "${world.model.address}"
[models.dear]
provider = "openai"
model = "gpt-4o"
`;

const picker = (page) => page.locator('.composer').getByRole('button', { name: /^(Model|Own model): / });
const choose = async (page, name) => {
  await picker(page).click();
  await page.getByRole('menuitemradio', { name }).click();
};
const chosen = (page, name) => page.getByRole('button', { name }).waitFor();
const kOwn = 'Own model: test';
const kFast = 'Model: fast';
const lastModel = (model) => model.asked.at(-1).model;

const tests = {
  async 'a model is chosen for a conversation, answers in it, and stays with it'({ base, model, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await chosen(page, kOwn);
    await choose(page, /^fast/);
    await chosen(page, kFast);
    await page.getByText('with the model fast-1').waitFor();
    await say(page, 'One');
    await answered(page, 'You said: One');
    assert.equal(lastModel(model), 'fast-1');
    assert.equal(await page.locator('.answer .by-model').innerText(), 'by fast-1');
    // The one that begins next has the agent's own; this one keeps its choice, in another browser, too.
    const here = page.url();
    await page.getByRole('button', { name: 'New conversation' }).click();
    await chosen(page, kOwn);
    const other = await (await window()).tab();
    await open(other, '', here);
    await chosen(other, kFast);
    await say(other, 'Two');
    await answered(other, 'You said: Two');
    assert.equal(lastModel(model), 'fast-1');
    await choose(other, /^The agent's own/);
    await chosen(other, kOwn);
    await say(other, 'Three');
    await answered(other, 'You said: Three');
    assert.equal(lastModel(model), 'test');
    assert.equal(await other.locator('.answer .by-model').count(), 2);
    // Chosen while an answer is written, it is for the next one.
    const speech = model.speech().say('Four ');
    await say(other, 'Four?');
    await live(other, 'Four');
    await choose(other, /^fast/);
    await chosen(other, kFast);
    speech.say('it is.').end();
    await answered(other, 'Four it is.');
    assert.equal(lastModel(model), 'test');
    await say(other, 'Five');
    await answered(other, 'You said: Five');
    assert.equal(lastModel(model), 'fast-1');
    await choose(other, /^The agent's own/);
    await chosen(other, kOwn);
    await other.reload();
    await answered(other, 'You said: Five');
    await chosen(other, kOwn);
  },

  async 'the context says which model was chosen in place of which'({ base, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'One');
    await answered(page, 'You said: One');
    await page.getByRole('button', { name: 'Context', exact: true }).click();
    await page.getByText('Model test.').waitFor();
    await choose(page, /^fast/);
    await say(page, 'Two');
    await answered(page, 'You said: Two');
    await page.getByText("Model fast-1, chosen in place of the agent's own (test).").waitFor();
    await page.locator('.answer', { hasText: 'You said: One' }).getByRole('button', { name: 'What the model was shown' }).click();
    await page.getByText('Model test.').waitFor();
  },

  async 'another answer is asked of another model, once'({ base, model, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'One');
    await answered(page, 'You said: One');
    await say(page, 'Two');
    await answered(page, 'You said: Two');
    model.plan('Two, and fast.');
    await page.getByRole('button', { name: 'Answer again with another model' }).last().click();
    await page.getByRole('menuitem', { name: /^fast/ }).click();
    await answered(page, 'Two, and fast.');
    assert.equal(lastModel(model), 'fast-1');
    assert.deepEqual(await page.locator('.answer .by-model').allInnerTexts(), ['by fast-1']);
    await page.locator('.said', { hasText: 'Two' }).getByText('2/2').waitFor();
    await chosen(page, kOwn);
    await say(page, 'Three');
    await answered(page, 'You said: Three');
    assert.equal(lastModel(model), 'test');
  },

  async 'an answer of a chosen model that is stopped or cut by a crash is that model\'s'({ world, base, model, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await choose(page, /^fast/);
    const stopped = model.speech().say('alpha ');
    await say(page, 'Greek letters');
    await live(page, 'alpha');
    await page.getByRole('button', { name: 'Stop the answer' }).click();
    await page.getByText('The answer was stopped here.').waitFor();
    await page.locator('.answer:not(.live) .by-model', { hasText: 'by fast-1' }).waitFor();
    stopped.end();
    const speech = model.speech().say('beta ');
    await say(page, 'The next');
    await live(page, 'beta');
    await world.kill();
    model.plan('beta gamma');
    await world.start();
    speech.end();
    await answered(page, 'beta gamma');
    assert.deepEqual(model.asked.map((request) => request.model), ['fast-1', 'fast-1', 'fast-1']);
  },

  async 'the keyboard chooses a model, and one without its key is said and cannot be chosen'({ base, model, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await picker(page).focus();
    await page.keyboard.press('Enter');
    const dear = page.getByRole('menuitemradio', { name: 'dear its key is missing on the server' });
    await dear.waitFor();
    assert.equal(await dear.getAttribute('aria-disabled'), 'true');
    const at = () => page.evaluate(() => document.activeElement.innerText.split('\n')[0]);
    assert.equal(await at(), "The agent's own");
    await page.keyboard.press('ArrowDown');
    assert.equal(await at(), 'dear');
    await page.keyboard.press('Enter');
    await dear.waitFor();
    await page.keyboard.press('ArrowDown');
    assert.equal(await at(), 'fast');
    await page.keyboard.press('Enter');
    await dear.waitFor({ state: 'detached' });
    await chosen(page, kFast);
    assert.match(await page.evaluate(() => document.activeElement.ariaLabel), /^Model: /);
    await say(page, 'One');
    await answered(page, 'You said: One');
    assert.equal(lastModel(model), 'fast-1');
  },

  async 'choosing a model is usable by everybody, light and dark, wide and narrow'({ base, window }) {
    for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark', viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }]) {
      const { tab, context } = await window(options);
      const page = await tab();
      await open(page, base);
      await picker(page).click();
      await page.getByRole('menuitemradio', { name: /^fast/ }).waitFor();
      await judge(page, `${options.colorScheme}, menu`);
      await fitsWidth(page);
      await page.getByRole('menuitemradio', { name: /^fast/ }).click();
      await chosen(page, kFast);
      await say(page, 'One');
      await answered(page, 'You said: One');
      await page.locator('.answer .by-model').waitFor();
      await judge(page, `${options.colorScheme}, answered`);
      await page.getByRole('button', { name: 'Answer again with another model' }).click();
      await page.getByRole('menuitem', { name: /^fast/ }).waitFor();
      await judge(page, `${options.colorScheme}, again`);
      await fitsWidth(page);
      // It stands beside its button, in front of everything.
      const [button, last] = await page.evaluate(() => {
        const box = document.querySelector('.again-with .menu').getBoundingClientRect();
        const item = [...document.querySelectorAll('.again-with [role=menuitem]')].at(-1);
        const { x, y, width, height } = item.getBoundingClientRect();
        const at = document.querySelector('.again-with .menu-face').getBoundingClientRect();
        return [Math.round(box.top - at.bottom), document.elementFromPoint(x + width / 2, y + height / 2)?.closest('[role=menuitem]') === item];
      });
      assert.deepEqual([button, last], [6, true]);
      await context.close();
    }
  },
};

export default tests;
export const settings = Object.fromEntries(Object.keys(tests).map((name) => [name, others]));
