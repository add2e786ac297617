// Ids of messages are UUIDs of version 7 in Crockford's base 32: they sort as the time at which they were made, and tell it.
const kDigits = '0123456789abcdefghjkmnpqrstvwxyz';

export function timeOfId(id: string): number | undefined {
  if (id.length !== 26) return undefined;
  let value = 0n;
  for (const letter of id) {
    const digit = kDigits.indexOf(letter);
    if (digit < 0) return undefined;
    value = value * 32n + BigInt(digit);
  }
  return Number(value >> 80n);
}
