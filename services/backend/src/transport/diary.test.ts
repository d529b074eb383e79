import { expect, it } from 'vitest';
import { Diary } from './diary.ts';

const redact = (text: string): string => text.replaceAll('hunter2', '[secret]');

it('a diary has whole lines of a program and what became of it in one order, without secrets', () => {
  const diary = new Diary();
  diary.write('listen', redact);
  diary.write('ing on stdio\n\npassword hunter2\nhalf a li', redact);
  diary.note('connected');
  expect(diary.lines.map(({ text }) => text)).toEqual(['listening on stdio', 'password [secret]', 'connected']);
  expect(diary.lastWords).toBe('password [secret]');
});

it('a program that writes without end takes no more room than the last lines do', () => {
  const diary = new Diary();
  for (let line = 0; line < 5_000; line += 1) diary.write(`line ${line} ${'x'.repeat(5_000)}\n`, redact);
  diary.write('x'.repeat(100_000), redact);
  expect(diary.lines).toHaveLength(500);
  expect(diary.lines.at(-1)?.text).toMatch(/^line 4999 x+$/);
  expect(diary.written).toBe(5_000);
  expect(JSON.stringify(diary.lines).length).toBeLessThan(1_100_000);
});

it.each([
  [
    'of Node',
    "node:internal/modules/cjs/loader:1\n  throw err;\n  ^\n\nError: Cannot find module '/x/hunter2.js'\n    at Module.resolve (node:internal:1)\n    at cannot be (x)\n  code: 1\n}\n\nNode.js v24.0.0\n",
    "Error: Cannot find module '/x/[secret].js'",
  ],
  [
    'of Python',
    'Traceback (most recent call last):\n  File "x", line 1\nModuleNotFoundError: No module named \'x\'\n',
    "ModuleNotFoundError: No module named 'x'",
  ],
  [
    'of Go',
    'starting\npanic: no key\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:1\nexit status 2\n',
    'panic: no key',
  ],
  ['of a shell', 'sh: 1: nothere: not found\n', 'sh: 1: nothere: not found'],
  ['in other words', 'hello\nbye\n', 'bye'],
  [
    'of npm',
    [
      'npm error code E404',
      'npm error 404 Not Found - GET https://registry.example/nothing - Not found',
      'npm error 404',
      "npm error 404  The requested resource 'nothing@*' could not be found or you do not have permission to access it.",
      'npm error 404 Note that you can also install from a',
      'npm error 404 tarball, folder, http url, or git folder.',
      'npm error A complete log of this run can be found in: /home/me/.npm/_logs/debug-0.log',
    ]
      .map((line) => `${line}\n`)
      .join(''),
    'npm error 404 Not Found - GET https://registry.example/nothing - Not found',
  ],
])('the reason of an end is the line that names it, in the last lines %s', (_whose, lines, reason) => {
  const diary = new Diary();
  diary.write(lines, redact);
  diary.note('the program ended with exit code 1');
  expect(diary.reason).toBe(reason);
});
