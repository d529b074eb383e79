/** Keyboard shortcuts. */
import { signal } from '@preact/signals';
import { go, hrefOf, place } from './route.ts';

/** The views, in three groups: present state, entries, and rights. */
export const views = [
  { name: 'overview', group: 'Now', title: 'Overview', key: 'o', asks: 'Is all well?' },
  { name: 'servers', group: 'Now', title: 'Servers', key: 's', asks: 'Which one, in what state, and why?' },
  { name: 'calls', group: 'Now', title: 'Calls', key: 'l', asks: 'What happens now, and where did the time go?' },
  { name: 'sessions', group: 'Now', title: 'Sessions', key: 'e', asks: 'Who is connected, with what, and where?' },
  { name: 'topology', group: 'Now', title: 'Topology', key: 'p', asks: 'Which processes are there?' },
  { name: 'catalogue', group: 'Use', title: 'Catalogue', key: 'c', asks: 'What is offered, under which name?' },
  { name: 'try', group: 'Use', title: 'Try', key: 't', asks: 'What does it do, really?' },
  { name: 'tokens', group: 'Use', title: 'Tokens', key: 'w', asks: 'What do tools cost a model, and what saves that?' },
  { name: 'connect', group: 'Use', title: 'Connect', key: 'm', asks: 'How does my client get here?' },
  { name: 'connections', group: 'Use', title: 'Connections', key: 'n', asks: 'Who has signed in where?' },
  { name: 'approvals', group: 'Rules', title: 'Approvals', key: 'a', asks: 'Which calls wait for an approver?' },
  { name: 'trust', group: 'Rules', title: 'Trust', key: 'r', asks: 'What do servers say that nobody has approved?' },
  { name: 'policy', group: 'Rules', title: 'Policy', key: 'y', asks: 'Who may do what, and why?' },
  { name: 'keys', group: 'Rules', title: 'Keys', key: 'k', asks: 'Which API keys are there, and who uses them?' },
  {
    name: 'agents',
    group: 'Rules',
    title: 'Agents',
    key: 'b',
    asks: 'Which programs act for themselves or for users?',
  },
  { name: 'audit', group: 'Rules', title: 'Audit', key: 'u', asks: 'Who did what, and when?' },
  {
    name: 'configuration',
    group: 'Rules',
    title: 'Configuration',
    key: 'f',
    asks: 'What is in force, and from where?',
  },
] as const;

export const isHelpShown = signal(false);
/** Milliseconds after `g` in which the letter of a view must follow. */
const chordMs = 1_500;

/** Listens for shortcuts. @returns a function that ends this. */
export function followKeys(): () => void {
  let chordUntil = 0;
  const pressed = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const isChord = event.timeStamp < chordUntil;
    chordUntil = 0;
    if (document.querySelector('dialog[open]') !== null) return;
    const view = isChord ? views.find(({ key }) => key === event.key) : undefined;
    if (view !== undefined) go(hrefOf(view.name));
    else if (event.key === 'g') chordUntil = event.timeStamp + chordMs;
    else if (event.key === '?') isHelpShown.value = true;
    else if (event.key === '/') document.querySelector<HTMLInputElement>('input[type="search"]')?.focus();
    else if (event.key === 'Escape' && place.value.item !== undefined) go(hrefOf(place.value.view));
    else return;
    event.preventDefault();
  };
  addEventListener('keydown', pressed);
  return () => removeEventListener('keydown', pressed);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)) &&
    !(target instanceof HTMLInputElement && ['button', 'checkbox', 'radio'].includes(target.type))
  );
}
