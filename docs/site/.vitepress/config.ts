import { defineConfig } from 'vitepress';

const reference = [
  'gemma',
  'text',
  'vision',
  'audio',
  'moe',
  'server',
  'ai-provider',
  'loader',
  'metal-runtime',
  'core',
  'demo-model',
];

export default defineConfig({
  title: 'MarkBase Engine',
  description: 'Gemma 4 inside a Node process: text, pictures, video and sound',
  head: [['link', { rel: 'icon', href: '/icon.svg', type: 'image/svg+xml' }]],
  markdown: { theme: { light: 'github-light', dark: 'github-dark' } },
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Guides', link: '/guides/messages' },
      { text: 'Reference', link: '/reference/gemma' },
      { text: 'Performance', link: '/performance' },
    ],
    sidebar: [
      {
        text: 'Start',
        items: [
          { text: 'An answer in three lines', link: '/start' },
          { text: 'Where it runs', link: '/systems' },
        ],
      },
      {
        text: 'Guides',
        items: [
          { text: 'Messages and answers', link: '/guides/messages' },
          { text: 'Your own checkpoint', link: '/guides/checkpoints' },
          { text: 'Pictures and video', link: '/guides/pictures' },
          { text: 'Sound', link: '/guides/sound' },
          { text: 'Structured output', link: '/guides/structured-output' },
          { text: 'Tools', link: '/guides/tools' },
          { text: 'Serving', link: '/guides/serving' },
          { text: 'Memory and speed', link: '/guides/memory-and-speed' },
          { text: 'Electron', link: '/guides/electron' },
          { text: 'The command line', link: '/guides/command-line' },
        ],
      },
      {
        text: 'How it works',
        items: [
          { text: 'In drawings', link: '/how-it-works/' },
          { text: 'Architecture', link: '/how-it-works/architecture' },
          { text: 'Gemma 4, specified', link: '/how-it-works/gemma4' },
          { text: 'NVIDIA GPUs', link: '/how-it-works/cuda' },
          { text: 'Metal on Linux', link: '/how-it-works/metal-on-linux' },
        ],
      },
      {
        text: 'Facts',
        items: [
          { text: 'Performance', link: '/performance' },
          { text: 'What was verified', link: '/verified' },
        ],
      },
      {
        text: 'Packages in detail',
        collapsed: true,
        items: ['text', 'vision', 'audio', 'server', 'loader', 'playground'].map((name) => ({
          text: `@markbase/${name}`,
          link: `/packages/${name}`,
        })),
      },
      {
        text: 'Reference',
        collapsed: true,
        items: reference.map((name) => ({ text: `@markbase/${name}`, link: `/reference/${name}` })),
      },
    ],
  },
});
