import { h, type ComponentType, type FunctionComponent } from 'preact';
import { useRef } from 'preact/hooks';

// Marks a component whose rows are many. Signals that it reads still redraw it; its parent does so only with other props.
export function memo<P extends object>(component: FunctionComponent<P>): ComponentType<P> {
  return function Kept(props: P) {
    const last = useRef<{ props: P; element: preact.JSX.Element }>(null);
    const before = last.current;
    if (!before || !same(before.props, props)) last.current = { props, element: h(component, props) };
    return last.current!.element;
  };
}

function same(a: object, b: object): boolean {
  const keys = Object.keys(a) as (keyof typeof a)[];
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
