import { createActor, type ActorOptions, type AnyActorLogic, type Actor } from 'xstate';

/**
 * Starts an XState actor. The only caller of `createActor`: an actor without an error observer takes the process down
 * when it fails, so every one gets `onFailure`, which hears the error once and owns what happens to the actor's work.
 */
export function startActor<Logic extends AnyActorLogic>(
  logic: Logic,
  options: ActorOptions<Logic> & { readonly onFailure: (error: unknown) => void },
): Actor<Logic> {
  const { onFailure, ...actorOptions } = options;
  const actor = createActor<Logic>(logic, actorOptions as never);
  actor.subscribe({ error: onFailure });
  return actor.start();
}
