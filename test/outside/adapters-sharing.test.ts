/** Anonymous callers share the programs of servers that ask clients nothing; where that matters, Omnibus warns. */
import { expect, it } from 'vitest';
import { writeConfig } from '../support/gateway.ts';
import { saidHere } from '../support/command-here.ts';
import { fixturePath, omnibusProgram, startProcess } from '../support/processes.ts';

const program = { command: 'node', args: [fixturePath('stdio-server')] };
const mcpServers = {
  pipe: program,
  everybody: { ...program, isolation: 'shared' },
  own: { ...program, isolation: 'session' },
  web: { url: 'http://127.0.0.1:1/mcp' },
  off: { ...program, disabled: true },
};
const warning = /pipe, everybody are one program each for everybody who connects.*"isolation": "session"/;

it('check names programs that callers from other machines share, and none if it listens on this machine only or authenticates callers', async () => {
  for (const [listen, isWarned] of [
    ['0.0.0.0:7300', true],
    ['[::]:7300', true],
    ['192.168.1.5:7300', true],
    ['127.0.0.1.example:1', true],
    ['127.0.0.1:7300', false],
    ['localhost:7300', false],
    ['[::1]:7300', false],
  ] as const) {
    const { output } = await saidHere(['check', await writeConfig({ listen, auth: 'none', mcpServers })]);
    expect(output).toMatch(/is good/);
    expect(warning.test(output)).toBe(isWarned);
  }
  const known = await saidHere([
    'check',
    await writeConfig({ listen: '0.0.0.0:7300', auth: { keys: { file: 'keys.yaml' } }, mcpServers }),
  ]);
  expect(known.output).toMatch(
    /warning: .*everybody is one program for everybody.*Leave out "isolation" \(then each known caller has a program\)/,
  );
});

it('at the start, log and banner name programs that callers from other machines share', async () => {
  await using gateway = startProcess('node', [
    omnibusProgram,
    'serve',
    '--config',
    await writeConfig({ auth: 'none', mcpServers: { pipe: program, everybody: { ...program, isolation: 'shared' } } }),
    '--listen',
    '0.0.0.0:0',
    '--admin',
    '127.0.0.1:0',
  ]);
  await gateway.line(/"msg":"pipe, everybody are one program each/);
  await gateway.line(/^ {2}warning {3}pipe, everybody are one program each/);
});
