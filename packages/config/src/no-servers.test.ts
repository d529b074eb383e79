/** What a configuration without a server to connect to is answered with. */
import { expect, it } from 'vitest';
import { readClientFile } from './clients/read.ts';
import { noServers } from './diff.ts';
import { configOf } from './testing/config-of.ts';

it('servers that are all disabled are named, and are not called missing', () => {
  expect(noServers(configOf('mcpServers: {}'))?.problem).toBe('there are no servers');
  const one = configOf('mcpServers: { a: { command: x, disabled: true } }');
  expect(noServers(one)?.problem).toBe('the only server is disabled: a');
  const two = configOf('mcpServers: { a: { command: x, disabled: true }, b: { command: x, disabled: true } }');
  expect(noServers(two)?.problem).toBe('each server is disabled: a, b');
  expect(noServers(configOf('mcpServers: { a: { command: x, disabled: true }, b: { command: x } }'))).toBeUndefined();
});

it('an import of a configuration of Omnibus names its mistakes, and without any the command that serves it', () => {
  expect(() => readClientFile('f.yaml', 'mcpServers:\n  a: { ulr: "http://a.example" }\n')).toThrow(
    'f.yaml:2:8: mcpServers.a.ulr: unknown option; did you mean "url"?',
  );
  expect(() => readClientFile('f.yaml', 'listen: 127.0.0.1:7300\n')).toThrow('omnibus serve --config f.yaml');
  expect(() => readClientFile('f.yaml', 'mcpServer:\n  a: { url: "http://a.example" }\n')).toThrow(
    'f.yaml:1:1: mcpServer: unknown option; did you mean "mcpServers"?',
  );
  expect(() => readClientFile('f.yaml', 'what: ever\n')).toThrow('it is not the file of a known program');
});
