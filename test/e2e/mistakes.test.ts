/** A mistake in a file is answered by every command that reads the file, with its place and the right form; `packages/config` has the table of all mistakes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { inPipe } from '../support/terminal.ts';

it.each([
  [
    'a line without a colon',
    'omnibus.yaml',
    'mcpServers:\n  a:\n    command: npx\n    args: -y\n    foo\n',
    '5:5',
    'write NAME: VALUE',
  ],
  [
    'a missing comma',
    'mcp.json',
    '{ "mcpServers": {\n"a": { "command": "x" }\n"b": { "command": "y" } } }\n',
    '3:1',
    'a "," is missing',
  ],
  [
    'arguments as a text',
    'omnibus.yaml',
    'mcpServers:\n  a: { command: npx, args: "-y foo" }\n',
    '2:22',
    '["-y","foo"]',
  ],
  [
    'a mistyped option',
    'omnibus.yaml',
    'mcpServers:\n  a: { ulr: "https://a.example/mcp" }\n',
    '2:8',
    'did you mean "url"?',
  ],
  ['a duration in words', 'omnibus.yaml', 'mcpServers:\n  a: { command: npx, timeout: 1min }\n', '2:22', 'write "1m"'],
])(
  '%s is named with its place and the right form by every command that reads such a file',
  async (_what, name, text, place, form) => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-mistake-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, name);
    await writeFile(file, text);
    const commands = [
      ['check', file],
      ['doctor', '--config', file],
      ['serve', '--config', file],
      ...(name === 'omnibus.yaml' ? [] : [['import', file, '--config', join(folder, 'new.yaml')]]),
    ];
    const ends = await Promise.all(commands.map((words) => inPipe(words, { cwd: folder })));
    for (const [at, { status, stdout, stderr }] of ends.entries()) {
      const words = commands[at]?.[0];
      expect(status, words).toBeGreaterThan(0);
      expect(`${stdout}${stderr}`, words).toContain(`${name}:${place}`);
      expect(`${stdout}${stderr}`, words).toContain(form);
    }
  },
);
