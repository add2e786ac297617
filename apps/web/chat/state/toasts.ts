// Short words at the edge of the page that go away by themselves.
import { signal } from '@preact/signals';

export interface Toast {
  id: number;
  text: string;
  tone: 'plain' | 'bad';
}

export const toasts = signal<readonly Toast[]>([]);
let count = 0;

export function say(text: string, tone: Toast['tone'] = 'plain'): void {
  const id = ++count;
  toasts.value = [...toasts.value.slice(-2), { id, text, tone }];
  setTimeout(() => dismiss(id), tone === 'bad' ? 8000 : 4000);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
