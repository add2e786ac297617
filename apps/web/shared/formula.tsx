// A formula, as MathML. The part that makes it comes when the first one is shown; until then, and if it cannot be read, the
// formula stands there as it was written.
import { useEffect, useRef } from 'preact/hooks';

export function Formula({ tex, display }: { tex: string; display: boolean }) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    let wanted = true;
    import('./math.ts')
      .then(({ drawFormula }) => wanted && place.current && drawFormula(place.current, tex, display))
      .catch(() => {});
    return () => {
      wanted = false;
    };
  }, [tex, display]);
  return (
    <span ref={place} class={display ? 'formula display' : 'formula'} key={tex}>
      {tex}
    </span>
  );
}
