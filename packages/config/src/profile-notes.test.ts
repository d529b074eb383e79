import { expect, it } from 'vitest';
import { loadConfig } from './load.ts';

it('what a short list names and no server has is noted, at every place of the option', () => {
  const listing = { mode: 'search', show: ['file/read', 'files/*'], descriptions: { read: 'a', 'file/x': 'b' } };
  const text = JSON.stringify({ mcpServers: { files: { command: 'x' } }, listing, profiles: { p: { listing } } });
  const loaded = loadConfig({ file: 'f.json', text, env: {}, readFile: () => '' });
  const noted = 'notes' in loaded ? loaded.notes.map(({ path, message }) => `${path}: ${message}`) : [];
  const ofServer = 'there is no server "file" under mcpServers; did you mean "files"?';
  expect(noted.toSorted()).toEqual(
    ['listing', 'profiles.p.listing'].flatMap((place) => [
      `${place}.descriptions.file/x: "file/x" matches nothing: ${ofServer}`,
      `${place}.descriptions.read: "read" matches nothing: the name of a tool is \`server/tool\``,
      `${place}.show[0]: "file/read" matches nothing: ${ofServer}`,
    ]),
  );
});
