import { expect, it, vi } from 'vitest';
import { createProgram } from './program.ts';

it.each([
  [['keys', 'create', '--quiet'], '(omnibus keys create --help lists its options)'],
  [['keys'], 'omnibus keys'],
  [['serve', '--port', '8080'], 'write --listen 127.0.0.1:8080'],
  [['expose', '--port', '8080', '--', 'npx', 'x'], 'write --listen 0.0.0.0:8080'],
  [['no-such-command'], '(omnibus --help lists the commands)'],
])('a mistake in %j is answered with the help that is nearest', async (words, help) => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const program = createProgram(() => Promise.reject(new Error('no command runs here')));
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toThrow();
  expect(said.mock.calls.map(([text]) => String(text)).join('')).toContain(help);
  said.mockRestore();
});
