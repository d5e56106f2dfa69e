import DefaultTheme from 'vitepress/theme-without-fonts';
import './drawings.css';

export default DefaultTheme;
