import assert from 'node:assert/strict';
import { answered, open, say } from './page.mjs';

// One red pixel.
const kPicture = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==', 'base64');
const picture = (name) => ({ name, mimeType: 'image/png', buffer: kPicture });

// As a browser hands over what is dropped or pasted.
const handOver = (page, kind, files) =>
  page.evaluate(
    ([type, list]) => {
      const transfer = new DataTransfer();
      for (const { name, mime, bytes } of list) transfer.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], name, { type: mime }));
      const target = document.querySelector('.composer textarea');
      if (type === 'paste') target.dispatchEvent(new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true, cancelable: true }));
      else target.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    },
    [kind, files.map(({ name, mimeType, buffer }) => ({ name, mime: mimeType, bytes: buffer.toString('base64') }))],
  );

// An agent whose model looks at words only.
const kPlain = '[agents.plain]\nname = "Plain"\nmodel = "offline"\n';
const choosePlain = async (page) => {
  await page.getByRole('button', { name: /^Agent:/ }).click();
  await page.getByRole('menuitemradio', { name: 'Plain' }).click();
};

const waiting = (page) => page.getByRole('list', { name: 'Files to send' });

export default {
  async 'a picture is pasted, described, sent, seen and looked at'({ base, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await choosePlain(page);
    await handOver(page, 'paste', [picture('dot.png')]);
    await waiting(page).getByRole('img', { name: 'dot.png' }).waitFor();
    await page.getByText('up to 10 files, each up to 32 MB').waitFor();
    await waiting(page).getByRole('button', { name: 'Look at dot.png and describe it' }).click();
    await page.getByRole('dialog').getByLabel('What it shows').fill('A red dot');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await say(page, 'What is this?');
    await answered(page, '');
    const seen = page.locator('.said').getByRole('img', { name: 'A red dot' });
    await seen.waitFor();
    assert.equal(await seen.evaluate((image) => image.naturalWidth), 1);
    await page.reload();
    await page.locator('.said').getByRole('button', { name: 'Look at A red dot' }).click();
    await page.getByRole('dialog', { name: 'A red dot' }).getByRole('img').waitFor();
    const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()]);
    assert.match(saved.suggestedFilename(), /^A red dot/);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  },

  async 'files are dropped anywhere, and what cannot be sent is said before it is'({ base, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    const notes = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('buy milk') };
    await handOver(page, 'dragover', [notes]);
    await page.getByText('Drop files to send them: up to 10 files').waitFor();
    await handOver(page, 'drop', [notes]);
    await page.getByText('Drop files to send them').waitFor({ state: 'detached' });
    await waiting(page).getByText('notes.txt').waitFor();
    await handOver(page, 'drop', [{ name: 'nothing.bin', mimeType: '', buffer: Buffer.alloc(0) }]);
    await page.getByText('nothing.bin is empty.').waitFor();
    await page.evaluate(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(32 * 1024 * 1024 + 1)], 'film.mp4', { type: 'video/mp4' }));
      document.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
    });
    await page.getByText('film.mp4 has 32 MB; a file may have 32 MB.').waitFor();
    await handOver(page, 'drop', Array.from({ length: 10 }, (_, number) => picture(`p${number}.png`)));
    await page.getByText('p9.png is one too many: a message takes 10 files.').waitFor();
    assert.equal(await waiting(page).getByRole('listitem').count(), 10);
    await waiting(page).getByRole('button', { name: 'Remove p8.png' }).click();
    assert.equal(await waiting(page).getByRole('listitem').count(), 9);
  },

  async 'a text file is read by the model, and shown as a file that can be opened'({ base, model, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await page.locator('input[type=file]').setInputFiles({ name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('```\nbuy milk\n```') });
    model.plan('Milk it is.');
    await say(page, 'What do I need?');
    await answered(page, 'Milk it is.');
    assert.match(JSON.stringify(model.asked.at(-1).messages), /notes\.md.*buy milk/);
    assert.equal(await page.locator('.said .bubble p').innerText(), 'What do I need?');
    await page.locator('.said').getByRole('button', { name: 'notes.md' }).click();
    await page.getByRole('dialog', { name: 'notes.md' }).getByText('buy milk').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    // Said anew, it takes the file along and leaves it out of the text.
    await page.locator('.said').hover();
    await page.getByRole('button', { name: 'Edit message' }).click();
    assert.equal(await page.getByRole('textbox', { name: 'Edit message' }).inputValue(), 'What do I need?');
    await page.getByRole('textbox', { name: 'Edit message' }).fill('What else?');
    model.plan('Nothing else.');
    await page.keyboard.press('Enter');
    await answered(page, 'Nothing else.');
    assert.match(JSON.stringify(model.asked.at(-1).messages), /What else\?.*buy milk/);
    await page.locator('.said').getByRole('button', { name: 'notes.md' }).waitFor();
  },

  async 'a first message that is said anew takes its picture along'({ base, window }) {
    const page = await (await window()).tab();
    await open(page, base);
    await choosePlain(page);
    await page.locator('input[type=file]').setInputFiles(picture('dot.png'));
    await say(page, 'What is this?');
    await answered(page, '');
    const first = page.url();
    await page.locator('.said').hover();
    await page.getByRole('button', { name: 'Edit message' }).click();
    await page.getByRole('textbox', { name: 'Edit message' }).fill('And this?');
    await page.keyboard.press('Enter');
    await page.locator('.said', { hasText: 'And this?' }).waitFor();
    await answered(page, '');
    assert.notEqual(page.url(), first);
    await page.reload();
    await page.locator('.said').getByRole('img', { name: 'dot.png' }).waitFor();
    assert.equal(await page.locator('.said img').evaluate((image) => image.complete && image.naturalWidth), 1);
  },
};

export const settings = {
  'a picture is pasted, described, sent, seen and looked at': kPlain,
  'a first message that is said anew takes its picture along': kPlain,
};
