import { describe, expect, it } from 'vitest';
import { Redactor } from './redactor.ts';

const redactor = Redactor.of({
  headers: {
    Authorization: 'Bearer sk-abcdef-123456',
    'X-Basic': `Basic ${Buffer.from('me:my password').toString('base64')}`,
    'Accept-Language': 'en',
  },
  env: {
    DATABASE_URL: 'postgres://me:pass-in-url@db/x',
    PIN: '12345',
    NODE_ENV: 'production',
    LOG: '/var/log',
    API_KEY: '987654',
  },
  args: ['--token', 'token-as-argument', '--secret=secret-as-argument', '--port', '8080'],
  url: 'https://user:url%20password@example.com/mcp?api_key=key-in-query&page=12',
});

describe('what servers are not to repeat', () => {
  it.each([
    'sk-abcdef-123456',
    'my password',
    'postgres://me:pass-in-url@db/x',
    '987654',
    'token-as-argument',
    'secret-as-argument',
    'url password',
    'url%20password',
    'key-in-query',
  ])('takes out what we sent: %s', (secret) => {
    expect(redactor.sent(`before ${secret} after`)).toBe('before [secret] after');
    expect(JSON.stringify(redactor.sentIn({ list: [{ [secret]: secret }] }))).toBe(
      '{"list":[{"[secret]":"[secret]"}]}',
    );
  });

  it('leaves what nobody keeps secret', () => {
    for (const text of ['12345 at 8080 in production, page 12 of /var/log, en', '{"token":1}'])
      expect(redactor.sent(text)).toBe(text);
  });

  it.each([
    ['password=hunter2 next', 'password=[secret] next'],
    ['{"apiKey": "hunter2", "a": 1}', '{"apiKey": [secret], "a": 1}'],
    ['DB_PASSWORD: hunter2', 'DB_PASSWORD: [secret]'],
    ['Authorization: Bearer abc.def-ghi', 'Authorization: [secret]'],
    ['got bearer abcdefghij', 'got bearer [secret]'],
    ['postgres://me:hunter2@db/x', 'postgres://[secret]@db/x'],
    ['postgres://me:hun/ter?2@db/x', 'postgres://[secret]@db/x'],
    ['http://127.0.0.1:80/@of/pkg', 'http://127.0.0.1:80/@of/pkg'],
    ['ghp_0123456789abcdef', '[secret]'],
    ['\u001B[2Jgone\u0007\nsecond', '[2Jgone second'],
  ])("frees the operator's log of %j", (text, clean) => {
    expect(redactor.excerpt(text)).toBe(clean);
  });

  it('is done with megabytes that are made to take long, within the time of a test', () => {
    for (const text of [
      'password'.repeat(200_000),
      'a:'.repeat(500_000),
      `${'x'.repeat(1_000_000)}://`,
      'eyJ'.repeat(300_000),
    ])
      expect(redactor.excerpt(text)).not.toBe('');
  });
});
