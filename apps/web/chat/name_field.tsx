// A name that is being changed, where it stands. Enter and going elsewhere keep it, Escape leaves it as it was.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

// Whether a name is being changed. Whoever ends that with a key goes on from what shows the name, `face`.
export function useRenaming<T extends HTMLElement>() {
  const [renaming, setRenaming] = useState(false);
  const face = useRef<T>(null);
  const byKey = useRef(false);
  useLayoutEffect(() => {
    if (!renaming && byKey.current) face.current?.focus();
    byKey.current = false;
  }, [renaming]);
  const end = (withKey: boolean) => {
    byKey.current = withKey;
    setRenaming(false);
  };
  return { renaming, face, begin: () => setRenaming(true), end };
}

interface Props {
  label: string;
  name: string;
  // The new name, or none if it stays; and whether a key has ended it.
  done: (name: string | undefined, byKey: boolean) => void;
}

export function NameField({ label, name, done }: Props) {
  const field = useRef<HTMLInputElement>(null);
  // Browsers differ in whether a field that is taken away is left as well.
  const over = useRef(false);
  useLayoutEffect(() => {
    field.current!.focus();
    field.current!.select();
  }, []);
  const finish = (keep: boolean, byKey: boolean) => {
    if (over.current) return;
    over.current = true;
    const given = field.current!.value.trim();
    done(keep && given && given !== name ? given : undefined, byKey);
  };
  return (
    <input
      ref={field}
      class="rename"
      dir="auto"
      aria-label={label}
      maxLength={120}
      defaultValue={name}
      onBlur={() => finish(true, false)}
      onKeyDown={(event) => {
        if (event.isComposing) return;
        if (event.key === 'Enter' || event.key === 'Escape') {
          event.preventDefault();
          event.stopPropagation();
          finish(event.key === 'Enter', true);
        }
      }}
    />
  );
}
