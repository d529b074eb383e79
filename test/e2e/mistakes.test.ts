/** A mistake in a file is answered by every command that reads the file, with its place and the right form; `packages/config` has the table of all mistakes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@omnibus/config';
import { mistakes } from '@omnibus/config/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { saidHere } from '../support/command-here.ts';
import { isLongLane } from '../support/lane.ts';
import { omnibusProgram, startProcess } from '../support/processes.ts';

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
      ['import', file, '--config', join(folder, 'new.yaml')],
    ];
    for (const words of commands) {
      const { status, output } = await saidHere(words);
      expect(status, words[0]).toBeGreaterThan(0);
      expect(output, words[0]).toContain(`${name}:${place}`);
      expect(output, words[0]).toContain(form);
    }
  },
);

/** A pattern that fits a text alone. */
const literally = (words: string): RegExp => new RegExp(words.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'));

const isUnusable = (text: string): boolean =>
  'problems' in loadConfig({ file: 'f.yaml', text, env: process.env, readFile: () => '' });
const told = mistakes.filter(([, , lines]) => lines.length > 0);

async function written(text: string): Promise<{ readonly folder: string; readonly file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-mistake-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'f.yaml');
  await writeFile(file, text);
  return { folder, file };
}

const said = async (...words: readonly string[]): Promise<string> => (await saidHere(words)).output;

/** `packages/config` proves each message; the gate shows a tenth of them through the commands. */
const nth = isLongLane ? 1 : 10;

describe('mistakes of the table that make a file unusable', () => {
  it.each(told.filter(([, text]) => isUnusable(text)).filter((_mistake, index) => index % nth === 0))(
    '%s: check, doctor, import and serve say what, where and the right form',
    async (_what, text, lines) => {
      const { folder, file } = await written(text);
      const answers = {
        check: await said('check', file),
        doctor: await said('doctor', '--config', file),
        import: await said('import', file, '--config', join(folder, 'new.yaml')),
        serve: await said('serve', '--config', file),
      };
      for (const [command, answer] of Object.entries(answers))
        for (const line of lines) expect(answer, command).toContain(line);
    },
  );
});

describe.runIf(isLongLane)('each mistake of the table with which a file can be used', () => {
  it.each(told.filter(([, text]) => !isUnusable(text)))(
    '%s: check, doctor and serve say what, where and the right form, and import that there is no need of it',
    async (_what, text, lines) => {
      const { folder, file } = await written(text);
      const answers = { check: await said('check', file), doctor: await said('doctor', '--config', file) };
      for (const [command, answer] of Object.entries(answers))
        for (const line of lines) expect(answer, command).toContain(line);
      expect(await said('import', file, '--config', join(folder, 'new.yaml'))).toContain(
        `needs no import: omnibus serve --config ${file}`,
      );
      // The log has each remark.
      await using serve = startProcess('node', [
        omnibusProgram,
        ...['serve', '--config', file, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'],
      ]);
      for (const line of lines) await serve.line(literally(JSON.stringify(line).slice(1, -1)));
    },
  );
});
