/** The demands of a server, by the header of its refusal. */
import { expect, it } from 'vitest';
import { readChallenge } from './challenge.ts';

it.each([
  [['DPoP algs="ES256"'], true],
  [['Bearer', 'DPoP algs="ES256"'], false],
  ['DPoP algs="ES256", Bearer', false],
  ['Bearer, DPoP', false],
  ['Bearer realm="x"', false],
  ['DPoP, Basic realm="x"', true],
])('a server that answers %j %s wants a proof with every token', (header, isProofWanted) => {
  expect(readChallenge(header).isProofWanted ?? false).toBe(isProofWanted);
});

it('what a server says is read whichever of its schemes comes first', () => {
  expect(
    readChallenge([
      'Basic realm="a"',
      'Bearer',
      'DPoP algs="ES256", resource_metadata="https://server.example/m", scope="a b"',
    ]),
  ).toMatchObject({ resourceMetadata: 'https://server.example/m', scope: 'a b' });
});
