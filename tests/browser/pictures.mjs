// pictures.mjs PROGRAM MODULES OUT: the main states of the page and of the widget, as the documents show them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { archiveOf, importArchive } from './archive.mjs';
import { answered, open, say } from './page.mjs';
import { openBrowser, World } from './world.mjs';

const out = process.argv[4];
mkdirSync(out, { recursive: true });

const kTeam = `[workflow]
name = "article"
kind = "graph"
start = "planner"
outputs = ["editor"]
participants = ["planner", "historian", "engineer", "editor"]
[[workflow.edges]]
from = "planner"
to = ["historian", "engineer"]
[[workflow.edges]]
from = ["historian", "engineer"]
to = "editor"
[agents.planner]
instructions = "You plan."
[agents.historian]
instructions = "You know history."
[agents.engineer]
instructions = "You know bridges."
[agents.editor]
instructions = "You edit."
`;
const kChecked = `[workflow]
name = "letter"
kind = "sequential"
participants = ["writer", "critic"]
review = ["writer"]
[agents.writer]
instructions = "You write."
[agents.critic]
instructions = "You read."
`;

function settings(world) {
  const file = (name, text) => {
    const path = join(world.folder, `${name}.toml`);
    writeFileSync(path, text);
    return `[workflows.${name}]\nfile = "${path}"\n`;
  };
  return `[agents.tutor]\nname = "Tutor"\nmodel = "test"\n${file('article', kTeam)}${file('letter', kChecked)}`;
}

const kTable = `The three largest, by the census of 2021:

| city | people | since 2011 |
|:--|--:|--:|
| Lisbon | 545,796 | −0.4 % |
| Vila Nova de Gaia | 303,824 | +0.5 % |
| Porto | 231,800 | −2.4 % |

The growth rate is $r = \\frac{n_{2021}}{n_{2011}} - 1$. As code:

\`\`\`python
def growth(now: int, before: int) -> float:
    """How much a city has grown, as a fraction."""
    return now / before - 1
\`\`\`
`;
const kDays = `With four days, I would do this:

1. **Friday:** the train to Porto, and a walk down to the Ribeira.
2. **Saturday:** the Douro by boat; Rex may come along.
3. **Sunday:** Guimarães, half an hour away, and back for dinner.

Shall I keep it short, or add where to eat?`;

class Pictures {
  constructor(world, browser, colorScheme) {
    Object.assign(this, { world, browser, colorScheme, model: world.model, base: world.base });
  }

  async take(page, name) {
    await page.evaluate(() => document.fonts.ready);
    await page.mouse.move(2, 2);
    await page.screenshot({ path: join(out, `${name}-${this.colorScheme}.png`) });
    console.log(`${name}-${this.colorScheme}`);
  }

  async post(path, body) {
    const response = await fetch(`${this.base}/api/v1${path}`, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }

  async remembered() {
    await this.post('/memory/facts', { text: 'I live in Madrid', valid_from: '2021-05-01T00:00:00Z' });
    await this.post('/memory/facts', { text: 'I live in Lisbon', valid_from: '2025-03-01T00:00:00Z' });
    await this.post('/memory/facts', { text: 'My dog is called Rex' });
    await this.post('/memory/facts', { text: 'I prefer short answers' });
    await this.post('/memory/documents?wait=true', { source: 'house rules.md', text: '# Guests\n\nDogs are welcome on the ground floor.\n\n# Breakfast\n\nFrom eight to eleven, on the terrace if it does not rain.\n', format: 'markdown' });
    await this.post('/memory/procedures', { name: 'refund', description: 'Giving money back', trigger: 'refund|money back', approved: false, steps: [{ instruction: 'Ask for the receipt' }, { instruction: 'Look at the date', tool: 'clock' }] });
    for (const title of ['A poem for Ana', 'Why the sky is blue', 'Recipe: caldo verde', 'Tax form']) await importArchive(this.base, archiveOf(title.toLowerCase().replace(/\W+/g, '-'), title, [['Hello', 'Hello.']]));
  }

  async edit(page, text) {
    await page.locator('.said').last().hover();
    await page.getByRole('button', { name: 'Edit message' }).last().click();
    await page.getByRole('textbox', { name: 'Edit message' }).fill(text);
    await page.keyboard.press('Enter');
  }

  // Tables, formulas, code, a tool that asks.
  async cities(page) {
    await open(page, this.base);
    this.model.plan({ calls: [{ name: 'calculator', arguments: { expression: '545796 + 303824 + 231800' } }] }, kTable);
    await say(page, 'Which are the largest cities of Portugal?');
    await page.getByRole('button', { name: 'Allow once' }).waitFor();
    await this.take(page, 'permission');
    await page.getByRole('button', { name: 'Always allow' }).click();
    await answered(page, 'As code');
    await page.locator('.formula math').first().waitFor({ state: 'attached' });
    await page.locator('.hljs-keyword').first().waitFor();
    await this.take(page, 'chat');
  }

  // A conversation that went several ways, and what the model was shown in one of them.
  async journey(page) {
    await page.getByRole('button', { name: 'New conversation' }).click();
    this.model.plan('North or south? Both are three hours away by train.');
    await say(page, 'Four days off in May. Where should we go?');
    await answered(page, 'North or south');
    this.model.plan('Then Tavira: a quiet town, and an island with a beach.');
    await say(page, 'South, by the sea');
    await answered(page, 'Tavira');
    this.model.plan('Then Porto. What do you like: old streets, or the river?');
    await this.edit(page, 'North, a city');
    await answered(page, 'Then Porto');
    this.model.plan('There is a small hotel near the cathedral.');
    await say(page, 'Old streets');
    await answered(page, 'small hotel');
    this.model.plan(kDays);
    await this.edit(page, 'The river, and my dog Rex comes along');
    await answered(page, 'Shall I keep it short');
    const session = decodeURIComponent(new URL(page.url()).hash.split('/')[2]);
    for (const [label, at, message] of [['In September', 1, 'What about September?'], ['By car', 3, 'We have a car']]) {
      const branch = await this.post(`/sessions/${session}/branches`, { from: 'main', at_index: at, label });
      await this.post('/turns', { session, branch: branch.id, message });
    }
    await page.reload();
    await answered(page, 'Shall I keep it short');
    await page.getByRole('button', { name: 'Branches', exact: true }).click();
    await page.locator('.tree .node').nth(4).waitFor();
    for (const [name, label] of [['main', 'South'], ['North, a city', 'Porto'], ['The river', 'Porto with Rex']]) await this.rename(page, name, label);
    await this.take(page, 'branches');
    await page.getByRole('button', { name: 'More for South' }).click();
    await page.getByRole('menuitem', { name: 'Compare' }).click();
    await page.locator('.diff li').nth(2).waitFor();
    await this.take(page, 'compare');
    await page.getByRole('tab', { name: 'Context' }).click();
    await page.locator('.recalled[data-fate=kept] .item-why').first().waitFor();
    await this.take(page, 'context');
  }

  async rename(page, name, label) {
    await page.getByRole('button', { name: `More for ${name}` }).first().click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Name of the branch' }).fill(label);
    await page.keyboard.press('Enter');
    await page.locator('.tree .node', { hasText: label }).first().waitFor();
  }

  async memory(page) {
    for (const part of ['facts', 'documents', 'procedures']) {
      await page.goto(`${this.base}/#/memory/${part}`);
      await page.locator('.memory .cards > li').first().waitFor();
      if (part === 'facts') await page.getByText('Something else was true before').click();
      await this.take(page, `memory-${part}`);
    }
    await page.getByRole('searchbox', { name: 'Search memory' }).fill('May my dog sleep here?');
    await page.keyboard.press('Enter');
    await page.locator('.score').first().waitFor();
    await this.take(page, 'memory-search');
  }

  async workflows(page) {
    await page.goto(`${this.base}/#/workflows/article`);
    await page.locator('[data-node=planner]').waitFor();
    const [historian, engineer] = [this.model.aside(), this.model.aside()];
    historian.say('The first one that stayed was made of **boats**: the Ponte das Barcas of 1806. In 1809 it broke under ');
    engineer.say('Two arches matter: **Maria Pia** of 1877, and **Dom Luís I** of 1886 with its two decks, ');
    const either = (asked) => (JSON.stringify(asked.messages).includes('You know history') ? historian : engineer);
    this.model.plan('Two of you: one on how the bridges came to be, one on how they stand. Then we put it together.', either, either, 'Edited.');
    await page.getByRole('textbox', { name: 'Message to the workflow' }).fill('A short article about the bridges of Porto');
    await page.keyboard.press('Enter');
    await page.locator('.speech', { hasText: 'boats' }).waitFor();
    await page.locator('.speech', { hasText: 'Maria Pia' }).waitFor();
    await page.locator('.checkpoints li').nth(1).waitFor();
    await this.take(page, 'workflow');
    historian.say('those who fled.').end();
    engineer.say('172 metres apart.').end();
    await page.getByText('Open it as a conversation').waitFor();
    this.model.plan('Dear neighbours, the stairs are washed on Tuesdays.');
    await page.goto(`${this.base}/#/workflows/letter`);
    await page.getByRole('textbox', { name: 'Message to the workflow' }).fill('A letter to the neighbours about the stairs');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await page.locator('.checkpoints li').nth(1).waitFor();
    await this.take(page, 'workflow-question');
  }

  async phone(address) {
    const { tab, context } = await this.browser.window({ colorScheme: this.colorScheme, viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true });
    const page = await tab();
    await page.goto(address);
    await answered(page, 'Shall I keep it short');
    await this.take(page, 'phone');
    for (const part of ['memory/facts', 'workflows/letter']) {
      await page.goto(`${this.base}/#/${part}`);
      await page.locator('.cards > li, .past-runs li').first().waitFor();
      await this.take(page, `phone-${part.split('/')[0]}`);
    }
    await context.close();
  }

  async widget(page) {
    await page.goto(`${this.base}/widget/demo.html`);
    await page.getByRole('button', { name: 'Open chat' }).click();
    const panel = page.getByRole('dialog');
    await panel.getByText('Hello!').waitFor();
    await panel.getByRole('textbox').fill('Do you have a room with a view?');
    this.model.plan('We do: **two** of them look over the river.\n\n| room | a night |\n|---|--:|\n| Douro | 95 € |\n| Sé | 110 € |\n\nFor which days?');
    await page.keyboard.press('Enter');
    await panel.getByText('For which days?').waitFor();
    await this.take(page, 'widget');
  }

  async all() {
    const { tab, context } = await this.browser.window({ colorScheme: this.colorScheme, viewport: { width: 1280, height: 800 } });
    const page = await tab();
    await open(page, this.base);
    await page.locator('.ideas').waitFor();
    await this.take(page, 'welcome');
    await this.remembered();
    await page.reload();
    await this.cities(page);
    await this.journey(page);
    const address = page.url();
    const other = await tab();
    await this.memory(other);
    await this.workflows(other);
    await this.phone(address);
    await this.widget(other);
    await context.close();
  }
}

const browser = await openBrowser();
for (const colorScheme of ['light', 'dark']) {
  const world = await World.begin({ settings });
  await new Pictures(world, browser, colorScheme).all();
  await world.end();
}
await browser.close();
