/** A program that closes a pipe and runs on. */
import { expect, it } from 'vitest';
import { createLogger } from '@omnibus/telemetry';
import { Child } from './child-process.ts';
import { Redactor } from './redactor.ts';

interface Line {
  readonly msg: string;
  readonly stderr?: string;
  readonly lastWords?: string;
}

/** Starts a program that closes its stdout at once. @param code more of it, with `say`, which writes on stderr. */
function closesStdout(code: string): { readonly child: Child; readonly log: Line[] } {
  const log: Line[] = [];
  const args = [
    '-e',
    `const say = (text) => require('node:fs').writeSync(2, text + '\\n');
    say('no more output');
    ${code}
    require('node:fs').closeSync(1);`,
  ];
  const child = new Child({
    command: process.execPath,
    args,
    env: {},
    cwd: '/',
    user: undefined,
    redactor: Redactor.of({ headers: {}, env: {}, args, url: undefined }),
    log: createLogger({ level: 'debug', format: 'json' }, { write: (line) => void log.push(JSON.parse(line) as Line) }),
  });
  child.onOutput(() => undefined);
  child.talks();
  return { child, log };
}

it('it learns from its stdin that it is to end, before SIGTERM', async () => {
  const { child, log } = closesStdout(`
    process.on('SIGTERM', () => { say('SIGTERM'); process.exit(); });
    process.stdin.resume().on('end', () => { say('end of input'); process.exit(); });`);
  expect(await child.ended).toBe('the program runs on, but has closed its output (stdout)');
  await child.stop();
  expect(log.map(({ stderr = '' }) => stderr).join('')).toMatch(/end of input/);
  expect(log.map(({ stderr = '' }) => stderr).join('')).not.toContain('SIGTERM');
});

it('its last words are logged once, and not as those of a program that ended', async () => {
  const { child, log } = closesStdout(`process.stdin.once('data', () => process.exit());`);
  await child.ended;
  child.write('go\n', 100);
  await child.gone;
  expect(log.filter(({ lastWords }) => lastWords !== undefined).map(({ msg, lastWords }) => [msg, lastWords])).toEqual([
    ['the program closed a pipe and runs on; these were its last words on stderr', 'no more output'],
  ]);
});
