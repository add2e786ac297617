// Stands in for the table of all named characters of HTML, which is a fifth of the widget. A model writes characters, not their
// names; those that Markdown itself may need are here, and what is not known stays as it was written.
const kNamed: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', hellip: '…', mdash: '—', ndash: '–' };

export function decodeHTMLStrict(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{1,8}));/g, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return Object.hasOwn(kNamed, name) ? kNamed[name]! : whole;
    const code = decimal ? Number(decimal) : parseInt(hex!, 16);
    const bad = code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff);
    return bad ? '\ufffd' : String.fromCodePoint(code);
  });
}
