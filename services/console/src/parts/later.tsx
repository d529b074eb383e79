/** A view, or a part of one, that loads its code when it opens. */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { Problem } from './basics.tsx';

export function later<Props extends object = object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const loaded = signal<ComponentType<Props> | undefined>(undefined);
  const failed = signal(false);
  let isAsked = false;
  return function Later(props: Props) {
    const View = loaded.value;
    if (View !== undefined) return <View {...props} />;
    if (!isAsked) {
      isAsked = true;
      load().then(
        (view) => {
          loaded.value = view;
        },
        () => {
          isAsked = false;
          failed.value = true;
        },
      );
    }
    return failed.value ? (
      <Problem
        problem="This part of the page could not be loaded."
        advice="The gateway may be another version by now: load the page again."
      />
    ) : (
      <p class="waiting">loading…</p>
    );
  };
}
