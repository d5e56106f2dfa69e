const PATHS = {
  attach: 'M8 12.5l6.2-6.2a3.2 3.2 0 0 1 4.5 4.5l-8 8a5 5 0 0 1-7-7L11.5 4',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  chevron: 'M7 10l5 5 5-5',
  close: 'M6.5 6.5l11 11M17.5 6.5l-11 11',
  copy: 'M9 9h10v11H9zM15 5.5V4H5v11h1.5',
  cube: 'M12 3.5l7.5 4.25v8.5L12 20.5l-7.5-4.25v-8.5zM4.5 7.75L12 12l7.5-4.25M12 12v8.5',
  edit: 'M5 19l1-4L16 5l3 3L9 18zM14 7l3 3',
  file: 'M7 3.5h7l4 4v13H7zM13.5 3.5V8H18',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 2.5-2.5L20 17M15.2 9.2h.1',
  list: 'M4.5 6.5h15M4.5 12h15M4.5 17.5h15',
  microphone: 'M9.5 6.5a2.5 2.5 0 0 1 5 0v5a2.5 2.5 0 0 1-5 0zM6.5 11a5.5 5.5 0 0 0 11 0M12 16.5V20',
  more: 'M6 12h.1M12 12h.1M18 12h.1',
  plus: 'M12 5v14M5 12h14',
  pulse: 'M3.5 12.5H8l2.5-6.5 3.5 12 2.5-5.5h4',
  repeat: 'M19 12a7 7 0 1 1-2-4.9M19.5 4v4h-4',
  send: 'M12 19V5.5M6 11l6-6 6 6',
  sliders:
    'M4 8h9M17.5 8H20M4 16h3M11.5 16H20M13 8a2.25 2.25 0 1 0 4.5 0a2.25 2.25 0 1 0-4.5 0M7 16a2.25 2.25 0 1 0 4.5 0a2.25 2.25 0 1 0-4.5 0',
  speech: 'M4 5h16v11h-9l-4 4v-4H4z',
  stop: 'M7.5 7.5h9v9h-9z',
  thought: 'M9.5 17.5h5M10.5 20.5h3M8.5 14.5a5.5 5.5 0 1 1 7 0c-.7.6-1 1.3-1 2h-5c0-.7-.3-1.4-1-2z',
  video: 'M3.5 6.5h12v11h-12zM15.5 11l5-3v8l-5-3',
  wrench:
    'M14.5 6a4 4 0 0 1 5-1.5L17 7l.5 1.5L19 9l2-2.5a4 4 0 0 1-5.5 5L7.5 19.5a2 2 0 0 1-3-3l8-8A4 4 0 0 1 14.5 6z',
} as const;

/** Names of icons. */
export type IconName = keyof typeof PATHS;

/** A line drawing in the colour of the text. It says nothing to screen readers: its button needs a name. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
