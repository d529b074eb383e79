import { withBase } from 'vitepress';
import { h, onMounted, ref } from 'vue';

let drawn = 0;

/** A Mermaid diagram, drawn in the browser. Without scripts its source is shown. `source`: text of the diagram, encoded as a part of a URI. */
export const Diagram = {
  props: { source: { type: String, required: true } },
  setup({ source }) {
    const text = decodeURIComponent(source);
    const svg = ref('');
    onMounted(async () => {
      const { default: mermaid } = await import(/* @vite-ignore */ withBase('/mermaid/mermaid.esm.min.mjs'));
      const isDark = document.documentElement.classList.contains('dark');
      mermaid.initialize({ startOnLoad: false, theme: isDark ? 'dark' : 'neutral' });
      drawn += 1;
      ({ svg: svg.value } = await mermaid.render(`diagram-${drawn}`, text));
    });
    return () => (svg.value === '' ? h('pre', text) : h('div', { innerHTML: svg.value }));
  },
};
