import assert from 'node:assert/strict';
import { fitsWidth, judge } from './judge.mjs';
import { answered, open, say } from './page.mjs';

const go = async (page, base, part = 'facts') => {
  await page.goto(`${base}/#/memory/${part}`);
  await page.getByRole('heading', { name: 'Memory', level: 1 }).waitFor();
  await page.getByRole('searchbox', { name: 'Search memory' }).waitFor();
};
const api = async (base, method, path, body) => {
  const response = await fetch(`${base}/api/v1${path}`, { method, ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }) });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  return response.json();
};
const remember = async (page, text) => {
  await page.getByRole('textbox', { name: 'Something to remember' }).fill(text);
  await page.getByRole('button', { name: 'Remember' }).click();
  await page.locator('.cards > li', { hasText: text }).first().waitFor();
};
// Says something in a conversation and closes it, which leaves an episode and the facts that were said.
const converse = async (page, base, text) => {
  await open(page, base);
  await say(page, text);
  await answered(page, `You said: ${text}`);
  const session = decodeURIComponent(new URL(page.url()).hash.split('/')[2]);
  await api(base, 'POST', `/sessions/${session}/close`);
  return session;
};
const drop = (page, name, type, text) =>
  page.evaluate(
    ([file, mime, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], file, { type: mime }));
      document.dispatchEvent(new DragEvent('dragover', { dataTransfer: transfer, bubbles: true, cancelable: true }));
      document.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
    },
    [name, type, text],
  );
const kHours = '# Opening hours\n\nThe shop opens at nine on weekdays.\n\n# Returns\n\nBring the receipt within thirty days.\n';
const kProcedure = { name: 'refund', description: 'Giving money back', trigger: 'refund|money back', steps: [{ instruction: 'Ask for the receipt' }, { instruction: 'Look at the date', tool: 'clock' }] };

export default {
  async 'facts are told, replaced, found with scores, and forgotten'({ base, window }) {
    const page = await (await window()).tab();
    await go(page, base);
    await page.getByText('Nothing is remembered yet.').waitFor();
    await remember(page, 'I live in Madrid');
    await remember(page, 'My dog is called Rex');
    await remember(page, 'I live in Lisbon');
    await page.getByText('in the place of what was true before').waitFor();
    const card = page.locator('.memory section > .cards > li', { hasText: 'I live in Lisbon' });
    await card.getByText('true since').waitFor();
    assert.equal(await card.getByText('I live in Madrid').isVisible(), false);
    await card.getByText('Something else was true before').click();
    await card.getByText('I live in Madrid').waitFor();
    await page.getByRole('searchbox', { name: 'Search memory' }).fill('Where do I live?');
    await page.keyboard.press('Enter');
    const first = page.getByRole('list', { name: 'Facts and documents' }).getByRole('listitem').first();
    await first.getByText('I live in Lisbon').waitFor();
    assert.ok(Number((await first.getByRole('img').getAttribute('aria-label')).replace('score ', '')) > 0.75);
    await page.getByRole('searchbox', { name: 'Search memory' }).fill('');
    await card.getByRole('button', { name: 'Forget: I live in Lisbon' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await card.waitFor();
    await card.getByRole('button', { name: 'Forget: I live in Lisbon' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget', exact: true }).click();
    await card.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Forget everything' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget everything' }).click();
    await page.getByText('Nothing is remembered yet.').waitFor();
    assert.deepEqual((await api(base, 'GET', '/memory/facts?all=true')).facts, []);
  },

  async 'a fact leads to the message that said it, and an episode to its conversation'({ base, window }) {
    const page = await (await window()).tab();
    const session = await converse(page, base, 'I live in Porto.');
    const { messages } = await api(base, 'GET', `/sessions/${session}/messages`);
    await api(base, 'POST', '/memory/facts', { text: 'I live in Porto', sources: [messages[0].id] });
    await page.getByRole('button', { name: 'New conversation' }).click();
    await go(page, base);
    const card = page.locator('.memory .cards > li', { hasText: 'I live in Porto' });
    await card.getByRole('button', { name: /^said / }).click();
    await answered(page, 'You said: I live in Porto.');
    assert.match(page.url(), /#\/c\//);
    await go(page, base, 'episodes');
    const episode = page.getByRole('region', { name: 'Episodes' }).getByRole('listitem').first();
    await episode.getByText('1 turn').waitFor();
    await episode.getByRole('button', { name: 'open the conversation' }).click();
    await answered(page, 'You said: I live in Porto.');
    // The search of the list finds it by what was said in it.
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByRole('searchbox', { name: 'Search conversations' }).fill('Where does the person live, in Porto?');
    await page.getByRole('region', { name: 'Said before' }).getByRole('button').first().click();
    await answered(page, 'You said: I live in Porto.');
    await go(page, base, 'episodes');
    await episode.getByRole('button', { name: /^Forget the episode/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget', exact: true }).click();
    await page.getByText('No episodes yet.').waitFor();
  },

  async 'documents are dropped, read, looked into and forgotten'({ base, window }) {
    const page = await (await window()).tab();
    await go(page, base, 'documents');
    await page.getByText('No documents yet.').waitFor();
    await page.getByText('text, Markdown, HTML or PDF, each up to 24 MB').waitFor();
    await drop(page, 'manual.md', '', kHours);
    const card = page.locator('.memory .cards > li', { hasText: 'manual.md' });
    await card.getByText(/\d+ parts?, ?|\d+ parts?$/).first().waitFor();
    await card.getByText('What was read').click();
    await card.getByText('The shop opens at nine').waitFor();
    await drop(page, 'letter.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'PK');
    await page.getByText('letter.docx cannot be read').waitFor();
    await drop(page, 'broken.pdf', 'application/pdf', 'no pdf');
    const failed = page.getByRole('list', { name: 'Being read' }).getByRole('listitem').filter({ hasText: 'broken.pdf' });
    await failed.locator('.bad-words').waitFor();
    await failed.getByRole('button', { name: 'Dismiss broken.pdf' }).click();
    await failed.waitFor({ state: 'detached' });
    await page.getByRole('searchbox', { name: 'Search memory' }).fill('When does the shop open?');
    await page.keyboard.press('Enter');
    await page.getByRole('list', { name: 'Facts and documents' }).getByText('manual.md').first().waitFor();
    await page.getByRole('searchbox', { name: 'Search memory' }).fill('');
    await card.getByRole('button', { name: 'Forget manual.md' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget', exact: true }).click();
    await page.getByText('No documents yet.').waitFor();
  },

  async 'a document that was being read when the page was left is found again'({ base, window }) {
    const page = await (await window()).tab();
    await go(page, base, 'documents');
    await drop(page, 'long.txt', 'text/plain', Array.from({ length: 4000 }, (_, n) => `Station ${n} is on the long line.`).join(' '));
    await page.getByText('long.txt').first().waitFor();
    await page.reload();
    await page.locator('.memory .cards > li', { hasText: 'long.txt' }).getByText(/^\d+ parts$/).waitFor();
  },

  async 'what an agent learned waits for approval'({ base, window }) {
    await api(base, 'POST', '/memory/procedures', { ...kProcedure, approved: false });
    const page = await (await window()).tab();
    await go(page, base, 'procedures');
    const card = page.locator('.memory .cards > li', { hasText: 'refund' }).first();
    await card.getByText('waits for approval').waitFor();
    await card.getByText('Look at the date').waitFor();
    await card.getByRole('button', { name: 'Approve' }).click();
    await card.getByText('approved', { exact: true }).waitFor();
    assert.equal((await api(base, 'GET', '/memory/procedures')).procedures[0].approved, true);
    await card.getByRole('button', { name: 'Forget refund' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget', exact: true }).click();
    await page.getByText('No procedures yet.').waitFor();
  },

  async 'memory is usable by everybody, light and dark, wide and narrow'({ base, window }) {
    await api(base, 'POST', '/memory/facts', { text: 'I live in Madrid', valid_from: '2024-01-01T00:00:00Z' });
    await api(base, 'POST', '/memory/facts', { text: 'I live in Lisbon, in a street whose name is almost too long for the narrow screen of a telephone' });
    await api(base, 'POST', '/memory/documents?wait=true', { source: 'a-manual-with-quite-a-long-name-for-a-file.md', text: kHours, format: 'markdown' });
    await api(base, 'POST', '/memory/procedures', { ...kProcedure, approved: false });
    await converse(await (await window()).tab(), base, 'Tell me about gardens.');
    for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark', viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }]) {
      const { tab, context } = await window(options);
      const page = await tab();
      for (const part of ['facts', 'documents', 'episodes', 'procedures']) {
        await go(page, base, part);
        await page.locator('.memory .cards > li').first().waitFor();
        await judge(page, `${options.colorScheme}, ${part}`);
        await fitsWidth(page);
      }
      await page.getByRole('searchbox', { name: 'Search memory' }).fill('Where do I live?');
      await page.keyboard.press('Enter');
      await page.locator('.score').first().waitFor();
      await judge(page, `${options.colorScheme}, search`);
      await fitsWidth(page);
      await context.close();
    }
  },
};
