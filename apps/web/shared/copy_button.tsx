import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1600);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = () => copyText(text).then(setDone, () => setDone(false));
  return (
    <button type="button" class="icon-button" onClick={copy} aria-label={done ? 'Copied' : label} title={done ? 'Copied' : label}>
      <Icon name={done ? 'check' : 'copy'} />
    </button>
  );
}

// The clipboard is there in secure contexts only; a server in the local network may have no TLS.
async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
