// pictures.mjs PROGRAM MODULES OUT: the main states of the page and of the widget, as the documents show them.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { answered, open, say } from './page.mjs';
import { workflows } from './workflows.test.mjs';
import { openBrowser, World } from './world.mjs';

const out = process.argv[4];
mkdirSync(out, { recursive: true });
const world = await World.begin({ settings: workflows });
const { model, base } = world;
const browser = await openBrowser();
const take = async (page, name) => {
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(out, `${name}.png`) });
  console.log(name);
};

const kTable = `The three largest, by the census of 2021:

| city | people | since 2011 |
|:--|--:|--:|
| Lisbon | 545,796 | −0.4 % |
| Porto | 231,800 | −2.4 % |
| Vila Nova de Gaia | 303,824 | +0.5 % |

The growth rate is $r = \\frac{n_{2021}}{n_{2011}} - 1$. As code:

\`\`\`python
def growth(now: int, before: int) -> float:
    """How much a city has grown, as a fraction."""
    return now / before - 1
\`\`\`
`;

async function conversation(page) {
  await open(page, base);
  model.plan({ calls: [{ name: 'calculator', arguments: { expression: '545796 + 231800 + 303824' } }] }, kTable);
  await say(page, 'Which are the largest cities of Portugal, and how did they grow?');
  await page.getByRole('button', { name: 'Allow once' }).waitFor();
  await take(page, 'permission');
  await page.getByRole('button', { name: 'Always allow' }).click();
  await answered(page, 'As code');
  model.plan('Lisbon: people lived there long before the Romans came.');
  await say(page, 'And which is the oldest?');
  await answered(page, 'Romans');
  model.plan('Porto, if you ask those who live there.');
  await page.locator('.said').last().hover();
  await page.getByRole('button', { name: 'Edit message' }).last().click();
  await page.getByRole('textbox', { name: 'Edit message' }).fill('And which is the prettiest?');
  await page.keyboard.press('Enter');
  await answered(page, 'Porto, if you ask');
}

const post = async (path, body) => {
  const response = await fetch(`${base}/api/v1/memory${path}`, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
  if (!response.ok) throw new Error(await response.text());
};

const kManual = `# Opening hours\n\nThe shop opens at nine on weekdays and at ten on Saturdays.\n\n# Returns\n\nBring the receipt within thirty days.\n`;

async function remembered() {
  await post('/facts', { text: 'I live in Madrid', valid_from: '2021-05-01T00:00:00Z' });
  await post('/facts', { text: 'I live in Lisbon', valid_from: '2025-03-01T00:00:00Z' });
  await post('/facts', { text: 'My dog is called Rex' });
  await post('/facts', { text: 'I prefer short answers' });
  await post('/documents?wait=true', { source: 'manual.md', text: kManual, format: 'markdown' });
  await post('/procedures', { name: 'refund', description: 'Giving money back', trigger: 'refund|money back', approved: false, steps: [{ instruction: 'Ask for the receipt' }, { instruction: 'Look at the date', tool: 'clock' }] });
}

async function memory(page, colorScheme) {
  for (const part of ['facts', 'documents', 'procedures']) {
    await page.goto(`${base}/#/memory/${part}`);
    await page.locator('.memory .cards > li').first().waitFor();
    if (part === 'facts') await page.getByText('Something else was true before').click();
    await take(page, `memory-${part}-${colorScheme}`);
  }
  await page.getByRole('searchbox', { name: 'Search memory' }).fill('When does the shop open?');
  await page.keyboard.press('Enter');
  await page.locator('.score').first().waitFor();
  await take(page, `memory-search-${colorScheme}`);
}

async function workflow(page, colorScheme) {
  await page.goto(`${base}/#/workflows/review`);
  await page.locator('[data-node=writer]').waitFor();
  model.plan('Porto is an old city at the mouth of the Douro, and its bridges are younger than they look.');
  const critic = model.speech().say('The **second half** is vague: which bridges, and ');
  await page.getByRole('textbox', { name: 'Message to the workflow' }).fill('A short text about the bridges of Porto');
  await page.keyboard.press('Enter');
  await page.locator('.speech', { hasText: 'vague' }).waitFor();
  await page.locator('.checkpoints li').nth(1).waitFor();
  await take(page, `workflow-${colorScheme}`);
  critic.say('how old?').end();
  await page.getByText('Open it as a conversation').waitFor();
  model.plan('Porto has six bridges over the Douro.');
  await page.goto(`${base}/#/workflows/checked`);
  await page.getByRole('textbox', { name: 'Message to the workflow' }).fill('How many bridges has Porto?');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  await take(page, `workflow-question-${colorScheme}`);
}

await remembered();
for (const colorScheme of ['light', 'dark']) {
  const { tab, context } = await browser.window({ colorScheme, viewport: { width: 1280, height: 800 } });
  const page = await tab();
  await open(page, base);
  await page.locator('.ideas').waitFor();
  await take(page, `welcome-${colorScheme}`);
  await conversation(page);
  await page.locator('.formula math').first().waitFor({ state: 'attached' });
  await take(page, `chat-${colorScheme}`);
  await page.getByRole('button', { name: 'Branches', exact: true }).click();
  await page.locator('.tree .node').nth(1).waitFor();
  await take(page, `branches-${colorScheme}`);
  await page.getByRole('tab', { name: 'Context' }).click();
  await page.locator('.budget').waitFor();
  await take(page, `context-${colorScheme}`);
  const address = page.url();
  const other = await tab();
  await memory(other, colorScheme);
  await workflow(other, colorScheme);
  await other.close();
  const phone = await browser.window({ colorScheme, viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true });
  const small = await phone.tab();
  await small.goto(address);
  await answered(small, 'Porto, if you ask');
  await take(small, `phone-${colorScheme}`);
  for (const part of ['memory/facts', 'workflows/checked']) {
    await small.goto(`${base}/#/${part}`);
    await small.locator('.cards > li, .past-runs li').first().waitFor();
    await take(small, `phone-${part.split('/')[0]}-${colorScheme}`);
  }
  await phone.context.close();
  const host = await tab();
  await host.goto(`${base}/widget/demo.html`);
  await host.getByRole('button', { name: 'Open chat' }).click();
  const panel = host.getByRole('dialog');
  await panel.getByRole('textbox').fill('Do you have a room with a view?');
  await panel.getByText('Hello!').or(panel.getByText('room with a view')).first().waitFor();
  model.plan('We do: **two** of them look over the river.');
  await host.keyboard.press('Enter');
  await panel.locator('strong').last().waitFor();
  await take(host, `widget-${colorScheme}`);
  await context.close();
}
await browser.close();
await world.end();
