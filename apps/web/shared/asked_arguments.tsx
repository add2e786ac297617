// What a person is asked to allow: all of it, whatever its length. What stands behind many blanks is run as well.
const kLong = 1000;

export function AskedArguments({ text }: { text: string }) {
  return (
    <>
      <pre tabIndex={0}>{text || '(no arguments)'}</pre>
      {text.length > kLong && <p class="asked-length">All {text.length.toLocaleString('en')} characters are shown: scroll to the end before you allow it.</p>}
    </>
  );
}
