// Line icons, drawn on 24 units. They are ornaments: what a button does is said by its label.
const kPaths = {
  plus: 'M12 5v14M5 12h14',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  close: 'M6 6l12 12M18 6L6 18',
  menu: 'M4 7h16M4 12h16M4 17h10',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4',
  retry: 'M20 12a8 8 0 1 1-2.5-5.8M20 4v5h-5',
  left: 'M15 6l-6 6 6 6',
  right: 'M9 6l6 6-6 6',
  down: 'M6 9l6 6 6-6',
  search: 'M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM20 20l-4-4',
  pin: 'M9 4h6l-1 7 3 3H7l3-3zM12 14v6',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
  clip: 'M19 11l-7.5 7.5a4.5 4.5 0 0 1-6.4-6.4L13 4.2a3 3 0 0 1 4.3 4.3l-7.8 7.8a1.5 1.5 0 0 1-2.2-2.1L14.500 7',
  branch: 'M7 4v10a4 4 0 0 0 4 4h6M7 9a5 5 0 0 0 5 0h5M7 4v16M17 9l-3-3M17 9l-3 3',
  tree: 'M6 4v12a3 3 0 0 0 3 3h3M6 9h6M15 6.500h5v5h-5zM15 16.500h5v5h-5z',
  gauge: 'M4 17a8 8 0 1 1 16 0M12 17l4-5',
  tool: 'M14.500 6.500a4 4 0 0 1 5-1.500l-2.500 2.500 1.500 2 2.500-2a4 4 0 0 1-5.500 4.500L8 19.500a2.100 2.100 0 0 1-3-3L12.500 9a4 4 0 0 1 2-2.500z',
  memory: 'M12 4c4 0 7 1.300 7 3v10c0 1.700-3 3-7 3s-7-1.300-7-3V7c0-1.700 3-3 7-3zM5 7c0 1.700 3 3 7 3s7-1.300 7-3M5 12c0 1.700 3 3 7 3s7-1.300 7-3',
  flow: 'M4 5h6v5H4zM14 14h6v5h-6zM7 10v4a3 3 0 0 0 3 3h4',
  sun: 'M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 3v2M12 19v2M3 12h2M19 12h2M5.600 5.600L7 7M17 17l1.400 1.400M5.600 18.400L7 17M17 7l1.400-1.400',
  settings: 'M5 7h8M17 7h2M5 17h2M11 17h8M15 5v4M9 15v4',
  warning: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  offline: 'M4 4l16 16M8.500 16a5 5 0 0 1 7 0M5 12.500a10 10 0 0 1 4-2.400M15 10.200a10 10 0 0 1 4 2.300M12 20h.01',
  file: 'M7 3h7l4 4v14H7zM14 3v5h4',
  chat: 'M5 5h14v11h-8l-4 4v-4H5z',
  merge: 'M6 4v6a6 6 0 0 0 6 6h6M18 4v4a8 8 0 0 1-3 6M18 16l-3-3M18 16l-3 3',
};

export type IconName = keyof typeof kPaths;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
      <path d={kPaths[name]} fill={name === 'stop' ? 'currentColor' : undefined} stroke-width={name === 'more' ? 2.75 : undefined} />
    </svg>
  );
}
