import assert from 'node:assert/strict';
import { archiveOf, importArchive } from './archive.mjs';
import { judge } from './judge.mjs';
import { answered, open, say } from './page.mjs';

const kRich = '# Title\n\nText with `code`, [a link](https://example.org) and $x^2$.\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```python\ndef f(x):  # a comment\n    return "text" + 1\n```\n\n> quoted\n\n- one\n- two';

export default {
  async 'every state of the page is usable by everybody, light and dark'({ base, model, window }) {
    for (const colorScheme of ['light', 'dark']) {
      const { tab, context } = await window({ colorScheme });
      const page = await tab();
      await open(page, base);
      await page.locator('.ideas').waitFor();
      await judge(page, `${colorScheme}, empty`);
      model.plan({ calls: [{ name: 'calculator', arguments: { expression: '6*7' } }] }, kRich);
      await say(page, 'Something rich');
      await page.getByRole('button', { name: 'Allow once' }).waitFor();
      await judge(page, `${colorScheme}, question`);
      await page.getByRole('button', { name: 'Allow once' }).click();
      await answered(page, 'quoted');
      await page.locator('.hljs-keyword').first().waitFor();
      await page.getByRole('region', { name: 'Tool calculator' }).getByRole('button').first().click();
      await page.getByRole('button', { name: 'Context', exact: true }).click();
      await page.locator('.budget').waitFor();
      await judge(page, `${colorScheme}, answer and context`);
      await page.getByRole('tab', { name: 'Branches' }).click();
      await judge(page, `${colorScheme}, branches`);
      await page.getByRole('button', { name: 'Settings' }).click();
      await judge(page, `${colorScheme}, settings`);
      await page.getByRole('button', { name: 'Done', exact: true }).click();
      await context.close();
    }
  },

  async 'a dark system gets a dark page, and the choice is kept'({ base, window }) {
    const { tab } = await window({ colorScheme: 'dark' });
    const page = await tab();
    await open(page, base);
    // Colours may fade over.
    const brightness = (low, high) => page.waitForFunction(([least, most]) => {
      const red = Number(/\d+/.exec(getComputedStyle(document.body).backgroundColor)[0]);
      return red >= least && red <= most;
    }, [low, high]);
    await brightness(0, 60);
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('radio', { name: 'Light' }).check();
    await brightness(200, 255);
    await page.reload();
    await page.locator('.ideas').waitFor();
    await brightness(200, 255);
  },

  async 'a phone has everything within its width'({ base, model, window }) {
    const { tab } = await window({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    const page = await tab();
    await open(page, base);
    model.plan(kRich);
    await say(page, 'On the way');
    await answered(page, 'quoted');
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth || [...document.querySelectorAll('.answer > *, .composer, .head')].some((box) => box.getBoundingClientRect().right > innerWidth + 1));
    assert.equal(wide, false);
    await page.getByRole('button', { name: 'Show conversations' }).click();
    await page.getByRole('navigation').getByRole('link', { name: 'On the way' }).click();
    await answered(page, 'quoted');
  },

  async 'the keyboard alone is enough for a conversation'({ base, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await page.locator('.composer textarea:focus').waitFor();
    await page.keyboard.type('Only keys');
    await page.keyboard.press('Enter');
    await answered(page, 'You said: Only keys');
    await page.keyboard.press('ArrowUp');
    await page.locator('.editing textarea:focus').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+.');
    await page.getByRole('tabpanel').waitFor();
    await page.keyboard.press('Control+Shift+O');
    await page.locator('.ideas').waitFor();
    await page.keyboard.press('Control+K');
    await page.locator('.sidebar input:focus').waitFor();
  },

  async 'ten thousand messages are a list of which a screenful exists'({ base, window }) {
    const turns = Array.from({ length: 5000 }, (_, number) => [`Question ${number}`, `Answer ${number}. ${'More words. '.repeat(number % 20)}`]);
    await importArchive(base, archiveOf('long', 'Long', turns));
    const page = await (await window()).tab();
    await open(page, base, '/#/c/long');
    await answered(page, 'Answer 4999.');
    const rows = () => page.locator('.thread-row').count();
    assert.ok((await rows()) < 60);
    await page.locator('.thread').evaluate((thread) => (thread.scrollTop = 0));
    await page.getByText('Question 0', { exact: true }).waitFor();
    await page.locator('.thread').evaluate((thread) => (thread.scrollTop = thread.scrollHeight / 2));
    await page.waitForFunction(() => !document.querySelector('.thread .skeleton') && document.querySelectorAll('.said').length > 1);
    assert.ok((await rows()) < 60);
    await page.getByRole('button', { name: 'To the latest message' }).click();
    await page.locator('.answer', { hasText: 'Answer 4999.' }).waitFor();
  },
};
