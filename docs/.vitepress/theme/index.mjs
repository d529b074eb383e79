import DefaultTheme from 'vitepress/theme';
import { Diagram } from './diagram.mjs';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('Diagram', Diagram);
  },
};
