// What a script can find out about whether everybody can use a page.
import assert from 'node:assert/strict';
import { axeSource } from './world.mjs';

export async function judge(page, where) {
  await page.evaluate(axeSource());
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const told = violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).slice(0, 3).join(' | ')}`);
  assert.deepEqual(told, []);
}

// Nothing stands out over the edge of the window.
export async function fitsWidth(page) {
  const out = await page.evaluate(() => {
    const scrolled = (box) => box.closest('.graph, .tabs, pre, .table-scroll, .sidebar, [inert]');
    const wide = [...document.querySelectorAll('main *')].filter((box) => !scrolled(box) && box.getBoundingClientRect().right > innerWidth + 1);
    return [document.documentElement.scrollWidth > innerWidth ? 'the page' : '', ...wide.slice(0, 3).map((box) => `${box.tagName}.${box.className}`)].filter(Boolean);
  });
  assert.deepEqual(out, []);
}
