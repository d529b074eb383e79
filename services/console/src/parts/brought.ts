/** Scrolls to the selection in a long list. */
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** @returns the reference of an element that the page scrolls to if it begins below the visible part. */
export function useBrought(): RefObject<HTMLElement | null> {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    const top = element.current?.getBoundingClientRect().top ?? 0;
    if (top > innerHeight * 0.7) element.current?.scrollIntoView({ block: 'start' });
  }, []);
  return element;
}
