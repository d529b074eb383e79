import { createActor, fromCallback, type ActorOptions, type AnyActorLogic, type Actor } from 'xstate';

/** A parent that ignores what its actors tell it. Actors without a parent have a system of actors each, which is half of their memory. */
const parent = createActor(fromCallback(() => undefined)).start();

/**
 * Starts an XState actor. The only caller of `createActor`: an actor without an error observer takes the process down
 * when it fails, so every one gets `onFailure`, which hears the error once and owns what happens to the actor's work.
 * @param options `isShared`: the actor shares a system with others, which keeps it until it reaches a final state.
 */
export function startActor<Logic extends AnyActorLogic>(
  logic: Logic,
  options: ActorOptions<Logic> & { readonly onFailure: (error: unknown) => void; readonly isShared?: boolean },
): Actor<Logic> {
  const { onFailure, isShared = false, ...actorOptions } = options;
  const actor = createActor<Logic>(logic, { ...actorOptions, ...(isShared ? { parent } : {}) } as never);
  actor.subscribe({ error: onFailure });
  return actor.start();
}
