// The whole window is a place to drop files on while something takes them, and says so once files hang over it.
import { useEffect, useState } from 'preact/hooks';
import { Icon } from '../shared/icons.tsx';

export function DropPlace({ take, words }: { take: (transfer: DataTransfer | null) => void; words: string }) {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const hangs = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    // Elements inside are left, too; what leaves the window has nothing that it goes to.
    const leaves = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const drops = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      take(event.dataTransfer);
    };
    document.addEventListener('dragover', hangs);
    document.addEventListener('dragleave', leaves);
    document.addEventListener('drop', drops);
    return () => {
      document.removeEventListener('dragover', hangs);
      document.removeEventListener('dragleave', leaves);
      document.removeEventListener('drop', drops);
    };
  }, [take]);
  if (!over) return null;
  return (
    <div class="drop-place" role="status">
      <p>
        <Icon name="clip" size={22} /> {words}
      </p>
    </div>
  );
}
