/** Callers, tools and servers that operators have blocked, and servers that they have paused. */
import { Blocks, openingAdvice, type Bus } from '@omnibus/bus';
import type { BlockRecord } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { SessionFeature } from '../../feature.ts';
import { blockGate } from './gate.ts';

/**
 * @returns the feature, and `onGone` for users that directories deactivate; undefined if the blocks cannot be opened on the bus.
 * The permissions of NATS may be of an older version: calls are then served without blocks.
 */
export async function openBlocks(
  bus: Bus,
  log: Logger,
): Promise<(SessionFeature & { readonly onGone: (listener: (user: BlockRecord) => void) => void }) | undefined> {
  const blocks = await Blocks.open(bus).catch((error: unknown) => {
    log.error({ what: 'blocks', problem: String(error) }, `this cannot be opened on the bus: ${openingAdvice(error)}`);
    return undefined;
  });
  return blocks === undefined
    ? undefined
    : {
        name: 'blocks',
        get isOn() {
          return blocks.size > 0;
        },
        gates: [blockGate(blocks)],
        barrier: blocks,
        start: ({ changed, barred }) =>
          blocks.onChanged((added) => {
            changed();
            if (added !== undefined) barred();
          }),
        onGone: (listener) =>
          blocks.onChanged((added) => {
            if (added?.isGone === true) listener(added);
          }),
        stop: () => blocks.close(),
      };
}
