/**
 * The scenarios of the official suites for client credentials, workload identity and tokens that are bound to a key, with the gateway as authorization server,
 * resource server and client in one run. The suites have no scenarios that judge a server of these extensions, so their client is a gateway that another
 * client uses in the same way. The gate runs one of each kind in one process, the long lane all of them in both shapes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapesOfLane, type Shape } from '../support/gateway.ts';
import { isLongLane } from '../support/lane.ts';
import { driveProgram } from './drive-program.ts';
import { Driver } from './driver.ts';
import { judgeClient, type SuiteName } from './run-suite.ts';

const inBoth = ['client-credentials-basic', 'client-credentials-jwt'];
const usual = ['client-credentials-jwt', 'wif-jwt-bearer', 'dpop-nonce'];

const runs: readonly [Shape, SuiteName, string][] = isLongLane
  ? shapesOfLane.flatMap((shape) => [
      ...inBoth.map((name): [Shape, SuiteName, string] => [shape, '@modelcontextprotocol/conformance', name]),
      ...[...inBoth, 'wif-jwt-bearer', 'dpop', 'dpop-nonce'].map((name): [Shape, SuiteName, string] => [
        shape,
        'conformance-next',
        name,
      ]),
    ])
  : usual.map((name) => ['embedded', 'conformance-next', name]);

describe.each(isLongLane ? shapesOfLane : (['embedded'] as const))(
  '%s,',
  { concurrent: true, timeout: 180_000 },
  (shape) => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await Driver.start(driveProgram(shape));
    });
    afterAll(() => driver[Symbol.asyncDispose]());

    it.each(runs.filter(([of]) => of === shape))(
      '%s: with %s, all three roles pass auth/%s',
      async (_shape, suite, name) => {
        const scenario = `auth/${name}`;
        const { status, output } = await judgeClient(suite, { scenario, command: driver.command });
        expect(status, output).toBe(0);
      },
    );
  },
);
