// Where the keyboard is: what opens has it at once, what lies over the page keeps it, and what is closed gives it back.
import assert from 'node:assert/strict';
import { answered, open, say } from './page.mjs';

// Presses a button and says what has the keyboard once the page has been drawn, without waiting for a frame: somebody who is
// quick does not wait for one either.
const pressed = (page, button) =>
  page.evaluate(async (selector) => {
    document.querySelector(selector).click();
    for (let step = 0; step < 20; ++step) await null;
    const { activeElement } = document;
    return activeElement.getAttribute('aria-label') ?? activeElement.innerText;
  }, button);
const focused = (page, selector) => page.waitForFunction((wanted) => document.activeElement.matches(wanted), selector);
const label = (page) => page.evaluate(() => document.activeElement.innerText.split('\n')[0]);

export default {
  async 'what opens is ready at once'({ base, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'Gardens');
    await answered(page, 'You said: Gardens');
    assert.equal(await pressed(page, '.sessions .menu-place button'), 'Rename');
    assert.equal(await page.evaluate(() => document.querySelector('[role=menu]').matches(':popover-open')), true);
    assert.equal(await pressed(page, '[role=menuitem]'), 'Name of the conversation');
    await page.keyboard.press('Escape');
    assert.equal(await pressed(page, '.said .edit'), 'Edit message');
    // Nothing moves the mark away from where somebody has put it.
    await page.evaluate(() => document.activeElement.select());
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
    await page.keyboard.insertText('Boats');
    assert.equal(await page.getByRole('textbox', { name: 'Edit message' }).inputValue(), 'Boats');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Settings' }).focus();
    await pressed(page, '.sidebar footer button');
    assert.equal(await page.evaluate(() => document.querySelector('dialog').open && document.querySelector('dialog').contains(document.activeElement)), true);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await label(page), 'Settings');
  },

  async 'a menu stands where it stays from its first frame, also where motion is reduced'({ base, window }) {
    for (const reducedMotion of ['reduce', 'no-preference']) {
      const page = await (await window({ reducedMotion })).tab();
      await open(page, base);
      await say(page, 'Gardens');
      await answered(page, 'You said: Gardens');
      const places = await page.evaluate(async () => {
        document.querySelector('.sessions .menu-place button').click();
        const seen = [];
        while (seen.length < 5) {
          await new Promise(requestAnimationFrame);
          const menu = document.querySelector('[role=menu]:popover-open');
          if (menu) seen.push(JSON.stringify(menu.getBoundingClientRect()));
        }
        return seen;
      });
      assert.equal(new Set(places).size, 1, `${reducedMotion}: ${places.slice(0, 2)}`);
    }
  },

  async 'a menu is gone through with the keys of a menu'({ base, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await say(page, 'Gardens');
    await answered(page, 'You said: Gardens');
    await page.getByRole('button', { name: 'More for Gardens' }).focus();
    await page.keyboard.press('Enter');
    assert.equal(await label(page), 'Rename');
    for (const [key, item] of [['End', 'Delete'], ['ArrowDown', 'Rename'], ['ArrowUp', 'Delete'], ['Home', 'Rename'], ['ArrowDown', 'Pin']]) {
      await page.keyboard.press(key);
      assert.equal(await label(page), item, key);
    }
    await page.keyboard.press('Escape');
    await focused(page, '[aria-label="More for Gardens"]');
    await page.getByRole('button', { name: 'Context', exact: true }).click();
    await page.getByRole('tab', { name: 'Context' }).focus();
    await page.keyboard.press('ArrowRight');
    await focused(page, '#tab-branches[aria-selected=true]');
    await page.keyboard.press('ArrowRight');
    await focused(page, '#tab-context[aria-selected=true]');
  },

  async 'what lies over the page takes the keyboard along and gives it back'({ base, window }) {
    const page = await (await window({ viewport: { width: 390, height: 780 } })).tab();
    await open(page, base);
    await say(page, 'Gardens');
    await answered(page, 'You said: Gardens');
    const covered = () => page.evaluate(() => document.getElementById('main').inert);
    await page.getByRole('button', { name: 'Show conversations' }).click();
    await focused(page, '.sidebar .new');
    assert.equal(await covered(), true);
    await page.keyboard.press('Escape');
    await focused(page, '.show-sidebar');
    assert.equal(await covered(), false);
    await page.getByRole('button', { name: 'Show conversations' }).click();
    await page.getByRole('navigation').getByRole('link', { name: 'Gardens' }).click();
    await focused(page, '#main');
    await page.getByRole('button', { name: 'Branches', exact: true }).click();
    await focused(page, '#tab-branches');
    assert.equal(await covered(), true);
    await page.getByRole('button', { name: 'Close' }).click();
    await focused(page, '[aria-label=Branches]');
    assert.equal(await covered(), false);
    // A branch that is gone to is seen.
    await say(page, 'Roses');
    await answered(page, 'You said: Roses');
    await page.getByRole('button', { name: 'Edit message' }).last().click();
    await page.getByRole('textbox', { name: 'Edit message' }).fill('Tulips');
    await page.keyboard.press('Enter');
    await answered(page, 'You said: Tulips');
    await page.getByRole('button', { name: 'Branches', exact: true }).click();
    await page.locator('.tree .node-face', { hasText: 'main' }).click();
    await answered(page, 'You said: Roses');
    await page.getByRole('tabpanel').waitFor({ state: 'detached' });
    // Beside the page nothing is taken away.
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('button', { name: 'Show conversations' }).click();
    await page.getByRole('button', { name: 'Hide conversations' }).click();
    await focused(page, '.show-sidebar');
    await page.getByRole('button', { name: 'Context', exact: true }).click();
    await focused(page, '[aria-label=Context]');
    assert.equal(await covered(), false);
  },
};
