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
