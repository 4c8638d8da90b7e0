"""Which memories belong together, and the commands that let one take the place of many; all of it pure."""
