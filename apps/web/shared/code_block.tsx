// A block of code with its language, a button that copies it, and colours once it is complete.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CopyButton } from './copy_button.tsx';

// Longer ones are shown without colours, and in part until one asks for all.
const kColourLimit = 60_000;
const kShownLimit = 100_000;

export function CodeBlock({ code, language, plain }: { code: string; language: string; plain: boolean }) {
  const [coloured, setColoured] = useState<{ code: string; parts: ComponentChildren }>();
  const [all, setAll] = useState(false);
  useEffect(() => {
    if (plain || !language || code.length > kColourLimit) return;
    let wanted = true;
    import('./highlight.ts')
      .then(({ highlighted }) => {
        const parts = highlighted(code, language.toLowerCase());
        if (wanted && parts) setColoured({ code, parts });
      })
      .catch(() => {});
    return () => {
      wanted = false;
    };
  }, [code, language, plain]);
  const long = code.length > kShownLimit && !all;
  const shown = long ? code.slice(0, kShownLimit) : code;
  return (
    <figure class="code" aria-label={language ? `Code, ${language}` : 'Code'}>
      <figcaption>
        <span>{language.slice(0, 40) || 'text'}</span>
        <CopyButton text={code} label="Copy code" />
      </figcaption>
      <pre tabIndex={0}>
        <code>{coloured?.code === code ? coloured.parts : shown}</code>
      </pre>
      {long && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          Show all {Math.round(code.length / 1000).toLocaleString()} thousand characters
        </button>
      )}
    </figure>
  );
}
