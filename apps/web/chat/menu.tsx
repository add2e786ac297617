// A button with a small menu. Arrow keys, Home and End move in it; Escape, Tab and a click elsewhere close it.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from '../shared/icons.tsx';

export interface MenuItem {
  name: string;
  icon?: IconName;
  danger?: boolean;
  checked?: boolean;
  hint?: string;
  // Cannot be chosen; the hint says why, so it can still be reached.
  off?: boolean;
  run: () => void;
}

interface Props {
  label: string;
  items: MenuItem[];
  // What the button shows; three dots if nothing else.
  face?: preact.ComponentChildren;
  title?: string;
  class?: string;
  up?: boolean;
}

export function Menu({ label, items, face, title, class: name = '', up = false }: Props) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const close = (focus: boolean) => {
    setOpen(false);
    if (focus) button.current?.focus();
  };
  // With the drawing that opens it: one that is open is seen.
  useLayoutEffect(() => {
    if (!open) return;
    const box = list.current!;
    box.showPopover?.();
    place(box, button.current!, up, !face);
    (box.querySelector<HTMLElement>('[aria-checked=true]') ?? box.querySelector<HTMLElement>('button'))?.focus();
    const elsewhere = (event: PointerEvent) => {
      if (!box.contains(event.target as Node) && !button.current?.contains(event.target as Node)) close(false);
    };
    const scrolled = () => close(false);
    document.addEventListener('pointerdown', elsewhere);
    window.addEventListener('resize', scrolled);
    return () => {
      document.removeEventListener('pointerdown', elsewhere);
      window.removeEventListener('resize', scrolled);
    };
  }, [open]);
  const pressed = (event: KeyboardEvent) => {
    const all = [...list.current!.querySelectorAll<HTMLElement>('button')];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      all.at(to % all.length)?.focus();
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault();
      close(true);
    }
  };
  return (
    <span class={`menu-place ${name}`} data-open={open}>
      <button
        ref={button}
        type="button"
        class={face ? 'menu-face' : 'icon-button'}
        aria-label={label}
        title={title ?? (face ? undefined : 'More')}
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {face ?? <Icon name="more" />}
      </button>
      {open && (
        <div ref={list} class="menu" popover="manual" role="menu" aria-label={label} onKeyDown={pressed}>
          {items.map((item) => (
            <button
              key={item.name}
              type="button"
              role={item.checked === undefined ? 'menuitem' : 'menuitemradio'}
              aria-checked={item.checked}
              aria-disabled={item.off}
              class={item.danger ? 'danger' : ''}
              tabIndex={-1}
              onClick={() => {
                if (item.off) return;
                close(true);
                item.run();
              }}
            >
              {item.icon && <Icon name={item.icon} size={16} />}
              <span>
                {item.name}
                {item.hint && <small>{item.hint}</small>}
              </span>
              {item.checked && <Icon name="check" size={16} />}
            </button>
          ))}
        </div>
      )}
    </span>
  );
}

// Above everything and fixed to the window, so that no box that scrolls or moves cuts it off or takes it along.
// Three dots stand at the end of what they are about, and their menu ends with them.
function place(box: HTMLElement, button: HTMLElement, up: boolean, atEnd: boolean): void {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = box;
  const above = up || at.bottom + height + 8 > innerHeight;
  const left = atEnd ? Math.min(at.right - width, at.left) : at.left;
  box.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(8, above ? at.top - height - 6 : at.bottom + 6)}px`;
}
