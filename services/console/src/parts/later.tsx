/** A view whose code is loaded when it is opened. */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { Problem } from './basics.tsx';

export function later(load: () => Promise<ComponentType>): ComponentType {
  const loaded = signal<ComponentType | undefined>(undefined);
  const failed = signal(false);
  let isAsked = false;
  return function Later() {
    const View = loaded.value;
    if (View !== undefined) return <View />;
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
