// An archive (docs/formats/archive.md) of one long conversation, to begin a test with.
import { createHash } from 'node:crypto';

const kTable = Array.from({ length: 256 }, (_, value) => {
  for (let bit = 0; bit < 8; ++bit) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value >>> 0;
});

function crc32c(text) {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) crc = kTable[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0');
}

const line = (value) => {
  const text = JSON.stringify(value).slice(0, -1);
  return `${text},"crc":"${crc32c(text)}"}\n`;
};

// Ids have 26 characters; these count.
const kDigits = '0123456789abcdefghjkmnpqrstvwxyz';
const id = (number) => {
  let text = '';
  for (let left = number; text.length < 8; left = Math.floor(left / 32)) text = kDigits[left % 32] + text;
  return `06gnf9d5z7s2w3r8k1${text}`;
};

// `turns`: pairs of what was said and what was answered.
export function archiveOf(session, title, turns) {
  const at = (number) => new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString().replace('Z', '000Z');
  const last = at(turns.length * 2);
  let text = line({ kind: 'archive', format: 'tertulia', v: '1.0' });
  text += line({
    kind: 'session',
    session: { v: '1.0', id: session, tenant: 'local', owner: 'local', revision: turns.length + 1, status: 'active', created_at: at(0), last_activity: last, metadata: { title } },
  });
  text += line({ kind: 'branch', messages: turns.length * 2, branch: { v: '1.0', id: 'main', session, created_at: at(0), last_activity: last, turns: [] } });
  turns.forEach(([said, answer], number) => {
    const message = (role, origin, words, index) => ({ id: id(number * 3 + index), role, time: at(number * 2 + index), origin, text: words });
    const messages = [message('user', 'user', said, 0), message('assistant', 'model', answer, 1)];
    text += line({ kind: 'turn', branch: 'main', revision: number + 2, turn: { v: '1.0', id: id(number * 3 + 2), messages } });
  });
  const bytes = Buffer.byteLength(text);
  const sha256 = createHash('sha256').update(text).digest('hex');
  return text + line({ kind: 'end', sessions: 1, branches: 1, turns: turns.length, messages: turns.length * 2, records: 0, bytes, sha256 });
}

export async function importArchive(base, archive) {
  const response = await fetch(`${base}/api/v1/import`, { method: 'POST', body: archive, headers: { 'Content-Type': 'application/x-ndjson' } });
  if (!response.ok) throw new Error(`the import was refused: ${await response.text()}`);
}
